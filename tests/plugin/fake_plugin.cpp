// A plugin with one process group (fake_group.h) and one device, "fake:0": memory from malloc, only FP32, and no
// kernels except cast, fill and add. With two extra functions a test can limit its memory and count the requests.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/device.h"
#include "backend/kernels/kernels.h"
#include "backend/plugin.h"
#include "fake_group.h"

namespace {

using namespace halftone;

constexpr size_t kAlignment = 64;

struct Memory {
  std::atomic<size_t> capacity{SIZE_MAX};
  std::atomic<size_t> taken{0};
  std::atomic<int64_t> requests{0};
  std::atomic<int64_t> failing_request{-1};
  std::atomic<bool> fails_for_ever{false};

  bool refuses(size_t bytes) noexcept {
    const int64_t request = requests++;
    const int64_t failing = failing_request;
    return bytes > capacity - taken || request == failing || (failing >= 0 && request > failing && fails_for_ever);
  }
};

Memory memory;

Status require_contiguous_f32(const View& view) {
  if (view.dtype == DType::kF32 && is_contiguous(view)) return {};
  return Status::failure(Code::kUnsupported, "the fake device takes contiguous f32 alone");
}

Status cast(Stream&, const View& in, const View& out) noexcept {
  for (const View* view : {&in, &out}) {
    if (Status status = require_contiguous_f32(*view); !status.ok()) return status;
  }
  std::memcpy(out.data, in.data, static_cast<size_t>(out.numel()) * sizeof(float));
  return {};
}

Status fill(Stream&, double value, const View& out) noexcept {
  if (Status status = require_contiguous_f32(out); !status.ok()) return status;
  auto* elements = static_cast<float*>(out.data);
  for (int64_t i = 0; i < out.numel(); ++i) elements[i] = static_cast<float>(value);
  return {};
}

Status binary(Stream&, BinaryOp op, const View& a, const View& b, const View& out) noexcept {
  if (op != BinaryOp::kAdd) return Status::failure(Code::kUnsupported, "the fake device can add, no more");
  for (const View* view : {&a, &b, &out}) {
    if (Status status = require_contiguous_f32(*view); !status.ok()) return status;
  }
  const auto* left = static_cast<const float*>(a.data);
  const auto* right = static_cast<const float*>(b.data);
  auto* sums = static_cast<float*>(out.data);
  for (int64_t i = 0; i < out.numel(); ++i) sums[i] = left[i] + right[i];
  return {};
}

constexpr Kernels kKernels = {
    .convert = {.cast = cast,
                .fill = fill,
                .arange = nullptr,
                .abs_max = nullptr,
                .quantize = nullptr,
                .quantize_scale = nullptr,
                .round_to = nullptr},
    .elementwise = {.unary = nullptr,
                    .binary = binary,
                    .ternary = nullptr,
                    .compare = nullptr,
                    .close = nullptr,
                    .check_divisor = nullptr,
                    .nan_to_num = nullptr,
                    .clamp = nullptr,
                    .clamp_backward = nullptr,
                    .activation = nullptr,
                    .activation_backward = nullptr,
                    .affine = nullptr,
                    .addcmul = nullptr,
                    .addcdiv = nullptr},
    .reduce = {},
    .gemm = {},
    .conv = {},
    .pool = {},
    .resample = {},
    .norm = {},
    .attention = {},
    .loss = {},
    .index = {},
    .select = {},
    .random = {},
    .statistics = {},
    .optim = {},
    .sequence = {},
    .scaled = {},
};

// Each call has finished its work when it returns.
class FakeStream final : public Stream {
 public:
  void destroy() noexcept override { delete this; }
  Status synchronize() noexcept override { return {}; }
};

class FakeEvent final : public Event {
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

class FakeDevice final : public Device {
 public:
  void destroy() noexcept override { delete this; }
  DeviceKind kind() const noexcept override { return DeviceKind::kOther; }
  const char* name() const noexcept override { return "fake:0"; }
  int32_t index() const noexcept override { return 0; }

  Status allocate(size_t bytes, void** out) noexcept override {
    if (memory.refuses(bytes) || posix_memalign(out, kAlignment, bytes) != 0) {
      return Status::failure(Code::kOutOfMemory, "the fake device has no %zu bytes", bytes);
    }
    memory.taken += bytes;
    return {};
  }
  void deallocate(void* block, size_t bytes) noexcept override {
    std::free(block);
    memory.taken -= bytes;
  }
  // Returns false, so that the library copies through the device as it does with a GPU.
  bool host_accessible() const noexcept override { return false; }
  Status allocate_pinned(size_t bytes, void** out) noexcept override {
    if (posix_memalign(out, kAlignment, bytes) == 0) return {};
    return Status::failure(Code::kOutOfMemory, "no %zu bytes of host memory", bytes);
  }
  void deallocate_pinned(void* block, size_t) noexcept override { std::free(block); }

  Stream& stream() noexcept override { return stream_; }
  Status create_stream(Stream** out) noexcept override {
    *out = new (std::nothrow) FakeStream;
    return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for a stream");
  }
  Status create_event(Event** out) noexcept override {
    *out = new (std::nothrow) FakeEvent;
    return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for an event");
  }
  Status copy_from_host(Stream&, void* device, const void* host, size_t bytes) noexcept override {
    if (bytes > 0) std::memcpy(device, host, bytes);
    return {};
  }
  Status copy_to_host(Stream&, void* host, const void* device, size_t bytes) noexcept override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    return {};
  }

  const Kernels& kernels() const noexcept override { return kKernels; }

 private:
  FakeStream stream_;
};

int32_t device_count() noexcept { return 1; }

Status create_device(int32_t index, Device** out) noexcept {
  if (index != 0) return Status::failure(Code::kDevice, "there is no fake device %d, only fake:0", index);
  *out = new (std::nothrow) FakeDevice;
  return *out != nullptr ? Status{} : Status::failure(Code::kOutOfMemory, "no memory for a device");
}

}  // namespace

// Applies to all fake devices together. The `failing_request`-th request for memory from now on, counted from 0, fails;
// with `for_ever`, so do all later ones. A negative number means that none fails.
extern "C" __attribute__((visibility("default"))) void fake_plugin_set_memory(size_t capacity, int64_t failing_request,
                                                                              int32_t for_ever) {
  memory.capacity = capacity;
  memory.failing_request = failing_request;
  memory.fails_for_ever = for_ever != 0;
  memory.requests = 0;
}

extern "C" __attribute__((visibility("default"))) int64_t fake_plugin_memory_requests() { return memory.requests; }

extern "C" __attribute__((visibility("default"))) const PluginTable* halftone_plugin(const PluginHost* host) {
#ifdef FAKE_BUILD_ID
  const char* const id = FAKE_BUILD_ID;
#else
  const char* const id = build_id();
#endif
  static const PluginTable table = {
      .struct_size = sizeof(PluginTable),
      .reserved = 0,
      .build_id = id,
      .name = "fake",
      .device_name = "fake",
      .create_device = create_device,
      .device_count = device_count,
      .group_name = "fake",
      .create_group = fake_plugin::create_group,
      .store_name = nullptr,
      .create_store = nullptr,
  };
  return host->struct_size == sizeof(PluginHost) ? &table : nullptr;
}
