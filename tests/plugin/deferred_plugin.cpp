// A plugin with devices "deferred:0" and "deferred:1", which compute as the CPU does, but only when the program waits.
// Every kernel and transfer is queued with copies of its host arguments. The library that works on them cannot depend
// on results being there early, and a test can count its waits. Memory is filled with NaN before and after its use.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "backend/plugin.h"
#include "core/host_memory.h"
#include "cpu/device.h"
#include "deferred_kernels.h"
#include "deferred_stream.h"

namespace halftone::deferred {
namespace {

constexpr size_t kAlignment = 64;
constexpr int32_t kDevices = 2;
// NaN in every float, and no valid index.
constexpr int kUnset = 0xff;

struct DestroyDevice {
  void operator()(Device* device) const noexcept { device->destroy(); }
};
using OwnedDevice = std::unique_ptr<Device, DestroyDevice>;
using Lock = std::lock_guard<std::recursive_mutex>;

Status allocate_unset(size_t bytes, void** out) noexcept {
  if (posix_memalign(out, kAlignment, bytes) != 0) {
    return Status::failure(Code::kOutOfMemory, "the deferred device has no %zu bytes", bytes);
  }
  std::memset(*out, kUnset, bytes);
  return {};
}

void free_unset(void* memory, size_t bytes) noexcept {
  std::memset(memory, kUnset, bytes);
  std::free(memory);
}

class DeferredDevice final : public Device {
 public:
  DeferredDevice(int32_t index, OwnedDevice cpu)
      : name_("deferred:" + std::to_string(index)), index_(index), cpu_(std::move(cpu)) {}
  virtual ~DeferredDevice() { run_all(); }

  void destroy() noexcept override { delete this; }
  DeviceKind kind() const noexcept override { return DeviceKind::kOther; }
  const char* name() const noexcept override { return name_.c_str(); }
  int32_t index() const noexcept override { return index_; }

  Status allocate(size_t bytes, void** out) noexcept override { return allocate_unset(bytes, out); }
  void deallocate(void* memory, size_t bytes) noexcept override {
    run_all();
    free_unset(memory, bytes);
  }
  bool host_accessible() const noexcept override { return false; }
  Status allocate_pinned(size_t bytes, void** out) noexcept override;
  void deallocate_pinned(void* memory, size_t bytes) noexcept override;

  Stream& stream() noexcept override { return stream_; }
  Status create_stream(Stream** out) noexcept override;
  Status create_event(Event** out) noexcept override;
  Status copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept override;
  Status copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept override;

  const Kernels& kernels() const noexcept override { return deferred::kernels(); }

 private:
  void run_all() noexcept {
    const Lock lock(machine_.mutex);
    machine_.run_all();
  }
  bool is_pinned(const void* memory) noexcept;

  std::string name_;
  int32_t index_;
  OwnedDevice cpu_;
  Machine machine_{cpu_->stream()};
  DeferredStream stream_{machine_};
  std::map<const char*, size_t> pinned_;  // the sizes of the blocks by their first bytes
};

Status DeferredDevice::allocate_pinned(size_t bytes, void** out) noexcept try {
  Status status = allocate_unset(bytes, out);
  const Lock lock(machine_.mutex);
  if (status.ok()) pinned_[static_cast<const char*>(*out)] = bytes;
  return status;
} catch (const std::bad_alloc&) {
  std::free(*out);
  return Status::failure(Code::kOutOfMemory, "no memory to note a pinned block");
}

void DeferredDevice::deallocate_pinned(void* memory, size_t bytes) noexcept {
  const Lock lock(machine_.mutex);
  machine_.run_all();
  pinned_.erase(static_cast<const char*>(memory));
  free_unset(memory, bytes);
}

bool DeferredDevice::is_pinned(const void* memory) noexcept {
  const Lock lock(machine_.mutex);
  const auto* byte = static_cast<const char*>(memory);
  const auto after = pinned_.upper_bound(byte);
  return after != pinned_.begin() && byte < std::prev(after)->first + std::prev(after)->second;
}

Status DeferredDevice::create_stream(Stream** out) noexcept try {
  const Lock lock(machine_.mutex);
  *out = new DeferredStream(machine_);
  return {};
} catch (const std::bad_alloc&) {
  return Status::failure(Code::kOutOfMemory, "no memory for a stream");
}

Status DeferredDevice::create_event(Event** out) noexcept {
  *out = new (std::nothrow) DeferredEvent(machine_);
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for an event");
}

// Pinned memory is read when the transfer runs. Other memory is copied now, as the rule for callers promises.
Status DeferredDevice::copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept try {
  auto& queue = static_cast<DeferredStream&>(stream);
  if (is_pinned(host)) {
    return queue.add([=](Stream&) {
      if (bytes > 0) std::memcpy(device, host, bytes);
      return Status{};
    });
  }
  return queue.add([device, staged = std::string(static_cast<const char*>(host), bytes)](Stream&) {
    std::copy(staged.begin(), staged.end(), static_cast<char*>(device));
    return Status{};
  });
} catch (const std::bad_alloc&) {
  return Status::failure(Code::kOutOfMemory, "no memory to copy %zu bytes", bytes);
}

Status DeferredDevice::copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept {
  return static_cast<DeferredStream&>(stream).add([=](Stream&) {
    if (bytes > 0) std::memcpy(host, device, bytes);
    return Status{};
  });
}

int32_t device_count() noexcept { return kDevices; }

Status create_device(int32_t index, Device** out) noexcept try {
  if (index >= kDevices) return Status::failure(Code::kDevice, "there is no device deferred:%d", index);
  *out = new DeferredDevice(index, OwnedDevice(cpu::create_device(1, system_memory())));
  return {};
} catch (const std::bad_alloc&) {
  return Status::failure(Code::kOutOfMemory, "no memory for a device");
}

}  // namespace
}  // namespace halftone::deferred

#define HALFTONE_TEST_EXPORT extern "C" __attribute__((visibility("default")))

// For all deferred devices together: the number of waits for streams and events so far.
HALFTONE_TEST_EXPORT int64_t deferred_plugin_waits() { return halftone::deferred::waits; }

// Sets deferred::runs_others_first.
HALFTONE_TEST_EXPORT void deferred_plugin_run_others_first(int32_t is_first) {
  halftone::deferred::runs_others_first = is_first != 0;
}

// Sets deferred::pieces_until_loss.
HALFTONE_TEST_EXPORT void deferred_plugin_lose_after(int64_t pieces) { halftone::deferred::pieces_until_loss = pieces; }

HALFTONE_TEST_EXPORT const halftone::PluginTable* halftone_plugin(const halftone::PluginHost* host) {
  static const halftone::PluginTable table = {
      .struct_size = sizeof(halftone::PluginTable),
      .reserved = 0,
      .build_id = halftone::build_id(),
      .name = "deferred",
      .device_name = "deferred",
      .create_device = halftone::deferred::create_device,
      .device_count = halftone::deferred::device_count,
      .group_name = nullptr,
      .create_group = nullptr,
      .store_name = nullptr,
      .create_store = nullptr,
  };
  return host->struct_size == sizeof(halftone::PluginHost) ? &table : nullptr;
}
