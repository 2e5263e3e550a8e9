#include "cpu/device.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "core/host_memory.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

// A cache line, and a vector of AVX-512.
constexpr size_t kAlignment = 64;

// Work has finished when the call that queued it returns, so every event is reached at once.
class CpuEvent final : public Event {
 public:
  void destroy() noexcept override { delete this; }
  Status record(Stream&) noexcept override { return {}; }
  Status wait_on(Stream&) noexcept override { return {}; }
  Status synchronize() noexcept override { return {}; }
  Status is_reached(bool* out) noexcept override {
    *out = true;
    return {};
  }
};

class CpuDevice final : public Device {
 public:
  CpuDevice(int num_threads, const HostMemory& memory)
      : pool_(num_threads), stream_(pool_, &options_), memory_(memory) {}

  void destroy() noexcept override { delete this; }
  DeviceKind kind() const noexcept override { return DeviceKind::kCpu; }
  const char* name() const noexcept override { return "cpu"; }
  int32_t index() const noexcept override { return 0; }
  Status set_option(DeviceOption option, int64_t value) noexcept override;

  Status allocate(size_t bytes, void** out) noexcept override;
  void deallocate(void* memory, size_t bytes) noexcept override { memory_.deallocate(memory_.user, memory, bytes); }
  bool host_accessible() const noexcept override { return true; }
  // Every host memory serves transfers equally well.
  Status allocate_pinned(size_t bytes, void** out) noexcept override { return allocate(bytes, out); }
  void deallocate_pinned(void* memory, size_t bytes) noexcept override { deallocate(memory, bytes); }

  Stream& stream() noexcept override { return stream_; }
  Status create_stream(Stream** out) noexcept override;
  Status create_event(Event** out) noexcept override;
  Status copy_from_host(Stream&, void* device, const void* host, size_t bytes) noexcept override {
    return copy(device, host, bytes);
  }
  Status copy_to_host(Stream&, void* host, const void* device, size_t bytes) noexcept override {
    return copy(host, device, bytes);
  }

  const Kernels& kernels() const noexcept override { return cpu::kernels(); }

 private:
  // memmove, because the host memory may be the tensor's own. It needs valid pointers even for 0 bytes, and an empty
  // tensor has none.
  static Status copy(void* to, const void* from, size_t bytes) noexcept {
    if (bytes > 0) std::memmove(to, from, bytes);
    return {};
  }

  ThreadPool pool_;
  CpuOptions options_;
  CpuStream stream_;
  const HostMemory& memory_;
};

Status CpuDevice::set_option(DeviceOption option, int64_t value) noexcept {
  if (option != DeviceOption::kTf32Products) return Device::set_option(option, value);
  options_.rounds_to_tf32.store(value != 0, std::memory_order_relaxed);
  return {};
}

Status CpuDevice::allocate(size_t bytes, void** out) noexcept {
  void* memory = memory_.allocate(memory_.user, bytes, kAlignment);
  if (memory == nullptr) {
    return Status::failure(Code::kOutOfMemory, "the allocator has no %zu bytes", bytes);
  }
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment != 0) {
    memory_.deallocate(memory_.user, memory, bytes);
    return Status::failure(Code::kInvalidArgument, "options.allocator returned memory not aligned to %zu bytes",
                           kAlignment);
  }
  *out = memory;
  return {};
}

Status CpuDevice::create_stream(Stream** out) noexcept {
  *out = new (std::nothrow) CpuStream(pool_, &options_);
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for a stream");
}

Status CpuDevice::create_event(Event** out) noexcept {
  *out = new (std::nothrow) CpuEvent;
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for an event");
}

}  // namespace

Device* create_device(int num_threads, const HostMemory& memory) { return new CpuDevice(num_threads, memory); }

}  // namespace halftone::cpu
