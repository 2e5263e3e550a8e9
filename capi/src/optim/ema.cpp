#include "halftone/ema.h"

#include <set>
#include <utility>
#include <vector>

#include "autograd/parameter_set.h"
#include "autograd/weights/weights.h"
#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "optim/ema.h"
#include "optim/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

optim::EmaSettings ema_settings(const htone_ema_options* options) {
  const htone_ema_options given = options_or_default(options, htone_ema_options(HTONE_EMA_OPTIONS_INIT));
  if (!(given.decay >= 0.0 && given.decay < 1.0)) {
    fail(Code::kInvalidArgument, "options", "options.decay=%g, expected a number in [0, 1)", given.decay);
  }
  return {.decay = given.decay, .warms_up = given.warmup != 0};
}

Ref<optim::Ema> make_ema(const ParameterSet& parameters, const optim::EmaSettings& settings) {
  return make_ref<optim::Ema>(parameters.items(), settings);
}

// Each once, though a layer may be on several paths.
std::vector<optim::AveragedBuffer> distinct_buffers(const nn::Module& module) {
  std::vector<optim::AveragedBuffer> result;
  std::set<std::pair<const void*, int64_t>> met;
  for (nn::NamedBuffer& buffer : module.buffers()) {
    if (!met.emplace(buffer.tensor.data(), buffer.tensor.numel()).second) continue;
    result.push_back({.name = std::move(buffer.name), .tensor = buffer.tensor});
  }
  return result;
}

// A deferred module has its buffers once it is there.
Ref<optim::Ema> make_ema_of_module(const nn::Module& module, const optim::EmaSettings& settings) {
  std::vector<NamedParameter> parameters = ParameterSet(module.parameters()).items();
  for (const NamedParameter& named : parameters) {
    if (!named.parameter->is_sharded()) named.parameter->weights().materialize();
  }
  return make_ref<optim::Ema>(std::move(parameters), settings, distinct_buffers(module));
}

Tensor average_at(const optim::Ema& ema, size_t index) {
  require_index(index, ema.size());
  return ema.read(index);
}

}  // namespace

htone_status htone_ema_create(htone_parameters* parameters, const htone_ema_options* options, htone_ema** out) {
  return Call(make_ema, parameters, as<ema_settings>(options), out);
}

htone_status htone_ema_create_from_module(htone_module* module, const htone_ema_options* options, htone_ema** out) {
  return Call(make_ema_of_module, module, as<ema_settings>(options), out);
}

htone_status htone_ema_update(htone_ema* ema) { return Call(&optim::Ema::update, ema); }

htone_status htone_ema_swap(htone_ema* ema) { return Call(&optim::Ema::swap, ema); }

htone_status htone_ema_count(htone_ema* ema, size_t* out_count) { return Pure(&optim::Ema::size, ema, out_count); }

htone_status htone_ema_read(htone_ema* ema, size_t index, htone_tensor** out) {
  return Call(average_at, ema, index, out);
}
