#include "halftone/devices.h"

#include <cstddef>
#include <cstdio>

#include "base/call.h"
#include "runtime/context.h"
#include "runtime/handles.h"
#include "runtime/registry.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_device_info device_info(const Context& context, size_t index) {
  const std::vector<KnownDevice> devices = known_devices(context.plugins());
  require_index(index, devices.size());
  htone_device_info info = HTONE_DEVICE_INFO_INIT;
  info.type = static_cast<htone_device_type>(devices[index].kind);
  std::snprintf(info.name, sizeof info.name, "%s", devices[index].name.c_str());
  return info;
}

htone_cpu_features cpu_features() {
  const Bf16Products products = bf16_products();
  htone_cpu_features features = HTONE_CPU_FEATURES_INIT;
  features.has_bf16_products = products.is_native ? 1 : 0;
  features.uses_bf16_products = products.is_used ? 1 : 0;
  std::snprintf(features.instruction_set, sizeof features.instruction_set, "%s", instruction_set());
  return features;
}

}  // namespace

htone_status htone_context_device_count(htone_context* context, size_t* out_count) {
  return Pure([](const Context& target) { return known_devices(target.plugins()).size(); }, context, out_count);
}

htone_status htone_context_device_info(htone_context* context, size_t index, htone_device_info* out_info) {
  return Pure(device_info, context, index, structure(out_info, offsetof(htone_device_info, name)));
}

htone_status htone_cpu_describe(htone_cpu_features* out_features) {
  return Pure(cpu_features, structure(out_features, offsetof(htone_cpu_features, instruction_set)));
}
