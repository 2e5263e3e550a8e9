// The stateful seam between the library and a backend: memory, order and transfers. Pure interfaces of plain types, so
// that a separately built plugin can implement them: no exception, std:: type or allocation crosses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"

namespace halftone {

struct Kernels;

// An ordered queue of work. Work on one stream runs in the order it was queued; the CPU's stream runs it at once.
class Stream {
 public:
  virtual Status synchronize() noexcept = 0;

 protected:
  ~Stream() = default;
};

// A point in the order of a stream's work.
class Event {
 public:
  virtual void destroy() noexcept = 0;
  virtual Status record(Stream& stream) noexcept = 0;
  // Work queued on `stream` after this call runs after this point.
  virtual Status wait_on(Stream& stream) noexcept = 0;
  virtual Status synchronize() noexcept = 0;

 protected:
  ~Event() = default;
};

// Must match htone_device_kind in capi/include/halftone/device.h.
enum class DeviceKind : int32_t { kCpu = 1, kCuda = 2, kOther = 3 };

class Device {
 public:
  virtual void destroy() noexcept = 0;
  virtual DeviceKind kind() const noexcept = 0;
  // "cpu", "cuda:0"; lives as long as the device.
  virtual const char* name() const noexcept = 0;
  virtual int32_t index() const noexcept = 0;

  // Raw memory for the caching allocator, aligned to at least 64 bytes.
  virtual Status allocate(size_t bytes, void** out) noexcept = 0;
  virtual void deallocate(void* memory, size_t bytes) noexcept = 0;
  // True if host code can read and write the device's memory with plain loads and stores.
  virtual bool host_accessible() const noexcept = 0;

  virtual Stream& stream() noexcept = 0;
  virtual Status create_event(Event** out) noexcept = 0;
  // Transfers between host and device memory, in stream order. The host memory must stay valid until the stream has
  // been synchronized.
  virtual Status copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept = 0;
  virtual Status copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept = 0;

  virtual const Kernels& kernels() const noexcept = 0;

 protected:
  ~Device() = default;
};

}  // namespace halftone
