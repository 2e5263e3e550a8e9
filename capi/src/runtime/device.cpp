#include "halftone/device.h"

#include <algorithm>

#include "base/call.h"
#include "runtime/context.h"
#include "runtime/handles.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(DeviceKind::kCpu) == HTONE_DEVICE_CPU);
static_assert(static_cast<int32_t>(DeviceKind::kOther) == HTONE_DEVICE_OTHER);
static_assert(static_cast<int32_t>(Category::kWorkspace) == HTONE_MEMORY_WORKSPACE);

namespace {

Ref<DeviceReference> find_device(Context& context, const char* name) {
  return make_ref<DeviceReference>(context.device(name));
}

htone_memory_stats memory_stats(const ContextDevice& device) {
  // One copy under the allocator's lock, so that the numbers fit together.
  const MemoryStats stats = device.allocator->stats();
  htone_memory_stats result = {};
  result.current = stats.current;
  result.peak = stats.peak;
  result.reserved = stats.reserved;
  result.limit = stats.limit;
  result.allocations = stats.allocations;
  result.device_allocations = stats.device_allocations;
  std::copy(std::begin(stats.by_category), std::end(stats.by_category), result.by_category);
  std::copy(std::begin(stats.peak_by_category), std::end(stats.peak_by_category), result.peak_by_category);
  return result;
}

static_assert(static_cast<int32_t>(DeviceOption::kTf32Products) == HTONE_DEVICE_TF32_PRODUCTS);
static_assert(static_cast<int32_t>(DeviceOption::kManagedMemory) == HTONE_DEVICE_MANAGED_MEMORY);
static_assert(static_cast<int32_t>(DeviceOption::kFusedGelu) == HTONE_DEVICE_FUSED_GELU);

DeviceOption known_option(htone_device_option option) {
  if (option >= HTONE_DEVICE_TF32_PRODUCTS && option <= HTONE_DEVICE_FUSED_GELU) {
    return static_cast<DeviceOption>(option);
  }
  fail(Code::kInvalidArgument, "option",
       "option=%d is none of HTONE_DEVICE_TF32_PRODUCTS, HTONE_DEVICE_MANAGED_MEMORY, HTONE_DEVICE_FUSED_GELU",
       static_cast<int>(option));
}

int64_t off_or_on(int64_t value) {
  if (value != 0 && value != 1) {
    fail(Code::kInvalidArgument, "value", "value=%lld, expected 0 or 1", static_cast<long long>(value));
  }
  return value;
}

int64_t not_negative(int64_t bytes) {
  if (bytes < 0) fail(Code::kInvalidArgument, "bytes", "bytes=%lld is negative", static_cast<long long>(bytes));
  return bytes;
}

}  // namespace

htone_status htone_device_create(htone_context* context, const char* name, htone_device** out) {
  return Call(find_device, context, name, out);
}

htone_status htone_device_kind(htone_device* device, htone_device_type* out_kind) {
  return Pure([](const ContextDevice& target) { return target.device->kind(); }, device, out_kind);
}

htone_status htone_device_name(htone_device* device, char* out_name, size_t capacity, size_t* out_length) {
  return Pure([](const ContextDevice& target) { return target.device->name(); }, device,
              text(out_name, capacity, out_length));
}

htone_status htone_device_set_option(htone_device* device, htone_device_option option, int64_t value) {
  return Call(
      [](ContextDevice& target, DeviceOption which, int64_t to) { check(target.device->set_option(which, to)); },
      device, as<known_option>(option), as<off_or_on>(value));
}

htone_status htone_device_synchronize(htone_device* device) {
  return Call([](ContextDevice& target) { check(target.device->stream().synchronize()); }, device);
}

htone_status htone_device_memory_stats(htone_device* device, htone_memory_stats* out_stats) {
  return Pure(memory_stats, device, structure(out_stats));
}

htone_status htone_device_reset_peak_memory(htone_device* device) {
  return Call([](ContextDevice& target) { target.allocator->reset_peak(); }, device);
}

htone_status htone_device_set_memory_limit(htone_device* device, int64_t bytes) {
  return Call([](ContextDevice& target, int64_t limit) { target.allocator->set_limit(limit); }, device,
              as<not_negative>(bytes));
}

htone_status htone_device_release_cached(htone_device* device) {
  return Call([](ContextDevice& target) { target.allocator->release_cached(); }, device);
}
