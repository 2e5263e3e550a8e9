// The stateful seam between the library and a backend: memory, order and transfers. Pure interfaces of plain types, so
// that a separately built plugin can implement them: no exception, std:: type or allocation crosses.
//
// Work may run after the call that queued it has returned. These rules hold for every call that takes a stream:
// * Host arguments (structs, Views, shapes, texts) may change or go as soon as the call returns. The device
//   copies those that it needs later.
// * A pointer inside a View is device memory, and so are pointers that an interface calls device memory. The device
//   uses such memory in stream order only. The caller keeps it allocated until then.
// * A fault in the data, such as an index out of range, is returned at once if the device checks at once. Otherwise the
//   device keeps the first fault in its error word. The next wait for a stream or event returns the fault and clears
//   the word. Work between the fault and that wait has unspecified results, but accesses only the given memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"

namespace halftone {

struct Kernels;

// An ordered queue of work. Work on one stream runs in the order in which it was queued. Work on two streams has no
// order, except where an event makes one. The CPU's streams run work at once.
class Stream {
 public:
  // Waits for all work of the stream, and frees the stream. REQUIRES: the stream is from Device::create_stream.
  virtual void destroy() noexcept = 0;
  // Waits for all work that was queued before. Returns and clears the device's error word.
  virtual Status synchronize() noexcept = 0;
  // The queue as the device's own interface knows it, a cudaStream_t where the device is of the kind kCuda, so that a
  // plugin for process groups can order its work with events. Null if there is none.
  virtual void* native_handle() noexcept { return nullptr; }

 protected:
  ~Stream() = default;
};

// A point in the order of a stream's work. An event that was not recorded counts as reached. A second record moves the
// event; waits that were queued before keep the first point.
class Event {
 public:
  // Does not wait. Waits that were queued before stay valid.
  virtual void destroy() noexcept = 0;
  virtual Status record(Stream& stream) noexcept = 0;
  // Work queued on `stream` after this call runs after this point.
  virtual Status wait_on(Stream& stream) noexcept = 0;
  // Waits for this point. Returns and clears the device's error word.
  virtual Status synchronize() noexcept = 0;
  // Sets `out` without waiting. Once it is true, all work before this point has finished. Repeated queries become true
  // in finite time. Leaves the error word as it is, so that a query on the way does not take the fault from a wait.
  virtual Status is_reached(bool* out) noexcept = 0;

 protected:
  ~Event() = default;
};

// Work that a device has recorded, and runs again without the calls that queued it.
class RecordedWork {
 public:
  // Runs that were queued before finish.
  virtual void destroy() noexcept = 0;
  // Queues all of it on `stream`, in the recorded order. Kernels get the arguments that they were recorded with.
  virtual Status run(Stream& stream) noexcept = 0;

 protected:
  ~RecordedWork() = default;
};

// Must match htone_device_type in capi/include/halftone/device.h.
enum class DeviceKind : int32_t { kCpu = 1, kCuda = 2, kOther = 3 };

// Settings that some devices have. Must match htone_device_option in capi/include/halftone/device.h.
enum class DeviceOption : int32_t {
  kTf32Products = 1,   // 1: products of FP32 operands may round them to TF32
  kManagedMemory = 2,  // 1: memory that is allocated from now on may lie in host memory, and moves to where it is used
  kFusedGelu = 3,      // 1: products may end in GELU by tanh as a library of the device computes it
};

constexpr const char* name_of(DeviceOption option) {
  switch (option) {
    case DeviceOption::kTf32Products:
      return "HTONE_DEVICE_TF32_PRODUCTS";
    case DeviceOption::kManagedMemory:
      return "HTONE_DEVICE_MANAGED_MEMORY";
    case DeviceOption::kFusedGelu:
      return "HTONE_DEVICE_FUSED_GELU";
  }
  return "of this number";
}

class Device {
 public:
  virtual void destroy() noexcept = 0;
  virtual DeviceKind kind() const noexcept = 0;
  // "cpu", "cuda:0"; lives as long as the device.
  virtual const char* name() const noexcept = 0;
  virtual int32_t index() const noexcept = 0;
  // Changes a setting for the work and the memory from now on. Returns UNSUPPORTED if the device does not have it.
  virtual Status set_option(DeviceOption option, [[maybe_unused]] int64_t value) noexcept {
    return Status::failure(Code::kUnsupported, "%s has no option %s", name(), name_of(option));
  }

  // True if the device can record work.
  virtual bool can_record() const noexcept { return false; }
  // Until end_recording, work that this thread queues on `stream`, and on streams that wait for its events, is recorded
  // and does not run. Calls of this thread that would wait, ask for an event, or transfer host memory that is not
  // pinned return STATE. No other thread may use the device meanwhile.
  virtual Status begin_recording(Stream&) noexcept {
    return Status::failure(Code::kUnsupported, "%s cannot record work", name());
  }
  // Sets `out`, unless it is null: then the work is dropped. Returns STATE if a call could not be recorded, or if
  // `stream` does not wait for another stream that was recorded; then there is no work, and the recording has ended.
  virtual Status end_recording(Stream&, RecordedWork**) noexcept {
    return Status::failure(Code::kUnsupported, "%s cannot record work", name());
  }

  // Raw memory for the caching allocator, aligned to at least 64 bytes.
  virtual Status allocate(size_t bytes, void** out) noexcept = 0;
  // Waits first for queued work that may use the memory, as cudaFree does.
  virtual void deallocate(void* memory, size_t bytes) noexcept = 0;
  // True if host code can read and write the device's memory with plain loads and stores.
  virtual bool host_accessible() const noexcept = 0;

  // Host memory that the device reads and writes directly, aligned to at least 64 bytes.
  virtual Status allocate_pinned(size_t bytes, void** out) noexcept = 0;
  // Waits first for queued transfers that may use the memory.
  virtual void deallocate_pinned(void* memory, size_t bytes) noexcept = 0;

  // The default stream, which lives as long as the device.
  virtual Stream& stream() noexcept = 0;
  // Another stream. Streams and events are destroyed before their device.
  virtual Status create_stream(Stream** out) noexcept = 0;
  virtual Status create_event(Event** out) noexcept = 0;

  // Transfers between host and device memory, in stream order.
  // Host memory to read from may be reused as soon as the call returns: a GPU first copies it into pinned memory of its
  // own. Only memory from allocate_pinned is read later, and must stay unchanged until the stream has run the transfer.
  virtual Status copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept = 0;
  // Host memory to write to holds the elements after a wait for the stream, or for an event that was recorded after
  // this call. It must stay allocated until then.
  virtual Status copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept = 0;

  virtual const Kernels& kernels() const noexcept = 0;

 protected:
  ~Device() = default;
};

}  // namespace halftone
