#include "halftone/device.h"

#include <algorithm>

#include "arguments.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(DeviceKind::kCpu) == HTONE_DEVICE_CPU);
static_assert(static_cast<int32_t>(DeviceKind::kOther) == HTONE_DEVICE_OTHER);
static_assert(static_cast<int32_t>(Category::kWorkspace) == HTONE_MEMORY_WORKSPACE);

namespace {

ContextDevice& device_of(htone_device* device) { return unwrap(device, "device")->device; }

}  // namespace

htone_status htone_device_create(htone_context* context, const char* name, htone_device** out) {
  return guard([&] {
    Context& owner = *unwrap(context, "context");
    ContextDevice& device = owner.device(&require(name, "name"));
    wrap(out, make_ref<DeviceReference>(device));
  });
}

htone_status htone_device_retain(htone_device* device) {
  return guard([&] { retain_handle(device, "device"); });
}

htone_status htone_device_release(htone_device* device) {
  return guard([&] { release_handle(device, "device"); });
}

htone_status htone_device_get_kind(htone_device* device, htone_device_kind* out_kind) {
  return guard([&] {
    const Device& target = *device_of(device).device;
    require(out_kind, "out_kind") = static_cast<htone_device_kind>(target.kind());
  });
}

htone_status htone_device_name(htone_device* device, char* out_name, size_t capacity, size_t* out_length) {
  return guard([&] { copy_text(device_of(device).device->name(), out_name, "out_name", capacity, out_length); });
}

htone_status htone_device_synchronize(htone_device* device) {
  return guard([&] { check(device_of(device).device->stream().synchronize()); });
}

htone_status htone_device_memory_stats(htone_device* device, htone_memory_stats* out_stats) {
  return guard([&] {
    const MemoryStats stats = device_of(device).allocator->stats();
    htone_memory_stats result = {};
    result.current = stats.current;
    result.peak = stats.peak;
    result.reserved = stats.reserved;
    result.limit = stats.limit;
    result.allocations = stats.allocations;
    result.device_allocations = stats.device_allocations;
    std::copy(std::begin(stats.by_category), std::end(stats.by_category), result.by_category);
    copy_result(result, out_stats, "out_stats");
  });
}

htone_status htone_device_reset_peak_memory(htone_device* device) {
  return guard([&] { device_of(device).allocator->reset_peak(); });
}

htone_status htone_device_set_memory_limit(htone_device* device, int64_t bytes) {
  return guard([&] {
    ContextDevice& target = device_of(device);
    if (bytes < 0) fail(Code::kInvalidArgument, "bytes", "bytes=%lld is negative", static_cast<long long>(bytes));
    target.allocator->set_limit(bytes);
  });
}

htone_status htone_device_release_cached(htone_device* device) {
  return guard([&] { device_of(device).allocator->release_cached(); });
}
