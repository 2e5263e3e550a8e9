#include "cpu/meta_device.h"

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "backend/kernels/wrapped.h"
#include "core/host_memory.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

// Does nothing where the CPU's kernel computes.
template <auto kEntry>
struct Skipped;

template <class Table, class... Arguments, Status (*Table::*kEntry)(Stream&, Arguments...) noexcept>
struct Skipped<kEntry> {
  static Status run(Stream&, Arguments...) noexcept { return {}; }
};

// Sizes of workspaces and schedules are the CPU's: the streams are the CPU's, too.
template <class Table, class Plan, class... Arguments, Plan (*Table::*kEntry)(Stream&, Arguments...) noexcept>
requires(!std::is_same_v<Plan, Status>) struct Skipped<kEntry> {
  static Plan run(Stream& stream, Arguments... arguments) noexcept {
    const auto& group = kernels().*group_of(static_cast<const Table*>(nullptr));
    return (group.*kEntry)(stream, arguments...);
  }
};

// Addresses without pages: the system gives memory only to what is touched.
Status reserve(size_t bytes, void** out) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return Status::failure(Code::kOutOfMemory, "no %zu bytes of addresses are left", bytes);
  *out = memory;
  return {};
}

struct DestroyDevice {
  void operator()(Device* device) const noexcept { device->destroy(); }
};

class MetaDevice final : public Device {
 public:
  explicit MetaDevice(int num_threads) : cpu_(create_device(num_threads, system_memory())) {}

  void destroy() noexcept override { delete this; }
  DeviceKind kind() const noexcept override { return DeviceKind::kOther; }
  const char* name() const noexcept override { return "meta"; }
  int32_t index() const noexcept override { return 0; }

  Status allocate(size_t bytes, void** out) noexcept override { return reserve(bytes, out); }
  void deallocate(void* memory, size_t bytes) noexcept override { munmap(memory, bytes); }
  // Its memory has no content worth reading.
  bool host_accessible() const noexcept override { return false; }
  Status allocate_pinned(size_t bytes, void** out) noexcept override { return cpu_->allocate_pinned(bytes, out); }
  void deallocate_pinned(void* memory, size_t bytes) noexcept override { cpu_->deallocate_pinned(memory, bytes); }

  Stream& stream() noexcept override { return cpu_->stream(); }
  Status create_stream(Stream** out) noexcept override { return cpu_->create_stream(out); }
  Status create_event(Event** out) noexcept override { return cpu_->create_event(out); }

  // Small transfers happen, since the library reads the state of optimizers and scalers again.
  Status copy_from_host(Stream&, void* device, const void* host, size_t bytes) noexcept override {
    if (bytes > 0 && bytes <= kLargestState) std::memcpy(device, host, bytes);
    return {};
  }
  Status copy_to_host(Stream&, void* host, const void* device, size_t bytes) noexcept override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    return {};
  }

  const Kernels& kernels() const noexcept override {
    static constexpr Kernels table = wrapped_kernels<Skipped>();
    return table;
  }

 private:
  static constexpr size_t kLargestState = 4096;

  const std::unique_ptr<Device, DestroyDevice> cpu_;
};

}  // namespace

Device* create_meta_device(int num_threads) { return new MetaDevice(num_threads); }

}  // namespace halftone::cpu
