// Traces of the gradient scaler, driven by real gradients: those of the trace, or infinite ones for an overflow.
#include <algorithm>
#include <limits>

#include "runner/topics.h"

namespace vectors {
namespace {

constexpr const char* kPresets[] = {"torch", "deepspeed", "megatron", "histogram"};
constexpr const char* kAtMinimum[] = {"hold", "error", "continue"};

template <size_t size>
int32_t index_of(const char* const (&names)[size], const std::string& name) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Mismatch("unknown name " + name);
  return static_cast<int32_t>(found - std::begin(names));
}

void apply(const Json& settings, htone_grad_scaler_options& options) {
  for (const auto& [name, value] : settings.items()) {
    if (name == "initial_scale") options.initial_scale = value;
    if (name == "growth_factor") options.growth_factor = value;
    if (name == "backoff_factor") options.backoff_factor = value;
    if (name == "min_scale") options.min_scale = value;
    if (name == "max_scale") options.max_scale = value;
    if (name == "growth_interval") options.growth_interval = value;
    if (name == "hysteresis") options.hysteresis = value;
    if (name == "renew_hysteresis_each_step") options.renew_hysteresis_each_step = value.get<bool>() ? 1 : 0;
    if (name == "at_minimum") options.at_minimum = static_cast<htone_at_minimum>(index_of(kAtMinimum, value));
    if (name == "histogram_limit") options.histogram_limit = value;
    if (name == "histogram_share") options.histogram_share = value;
    if (name == "grow_after_interval") options.grow_after_interval = value.get<bool>() ? 1 : 0;
    if (name == "fp32_factors") options.fp32_factors = value.get<bool>() ? 1 : 0;
    if (name == "histogram_trend") options.histogram_trend = value.get<bool>() ? 1 : 0;
  }
}

Json described(const htone_grad_scaler_options& options) {
  return {{"initial_scale", options.initial_scale},
          {"growth_factor", options.growth_factor},
          {"backoff_factor", options.backoff_factor},
          {"min_scale", options.min_scale},
          {"max_scale", options.max_scale},
          {"growth_interval", options.growth_interval},
          {"hysteresis", options.hysteresis},
          {"renew_hysteresis_each_step", options.renew_hysteresis_each_step != 0},
          {"at_minimum", kAtMinimum[options.at_minimum]},
          {"histogram_limit", options.histogram_limit},
          {"histogram_share", options.histogram_share},
          {"grow_after_interval", options.grow_after_interval != 0},
          {"fp32_factors", options.fp32_factors != 0},
          {"histogram_trend", options.histogram_trend != 0}};
}

// A preset with the trace's changes must give the trace's settings.
htone_grad_scaler_options options_of(const Json& vector) {
  htone_grad_scaler_options options;
  if (vector.contains("preset")) {
    const auto preset = static_cast<htone_scaler_preset>(index_of(kPresets, vector["preset"]));
    ok(htone_grad_scaler_options_preset(preset, &options));
    apply(vector["changes"], options);
  } else {
    ok(htone_grad_scaler_options_init(&options));
    apply(vector["settings"], options);
  }
  const Json actual = described(options);
  if (actual != vector["settings"]) throw Mismatch("settings are " + actual.dump());
  return options;
}

void restore(htone_grad_scaler* scaler, const Json& saved) {
  htone_scaler_state moving = {};
  moving.struct_size = sizeof moving;
  moving.scale = saved["scale"];
  moving.growth_tracker = saved["growth_tracker"];
  moving.hysteresis_left = saved["hysteresis_left"];
  moving.ceiling = saved.value("ceiling", 0.0);
  moving.bound = saved.value("bound", 0.0);
  ok(htone_grad_scaler_set_state(scaler, &moving));
}

size_t most_gradients(const Json& runs) {
  size_t most = 0;
  for (const Json& run : runs) most = std::max(most, run["gradients"].size());
  return most;
}

void compare(htone_grad_scaler* scaler, htone_optimizer* optimizer, const Json& expected, bool error) {
  htone_scaler_state moving = {};
  moving.struct_size = sizeof moving;
  ok(htone_grad_scaler_state(scaler, &moving));
  htone_step_outcome outcome = {};
  outcome.struct_size = sizeof outcome;
  ok(htone_optimizer_outcome(optimizer, &outcome));
  Json actual = {{"scale", moving.scale},
                 {"growth_tracker", moving.growth_tracker},
                 {"hysteresis_left", moving.hysteresis_left},
                 {"skipped", outcome.skipped != 0},
                 {"error", error}};
  if (expected.contains("ceiling")) actual["ceiling"] = moving.ceiling;
  if (actual != expected) throw Mismatch(actual.dump() + ", expected " + expected.dump());
}

// The learning rate is 0 and the weights are 0, so that no loss overflows before its gradients do.
struct Trace {
  Trace(htone_device* device, const Json& vector)
      : weights(device, std::vector<double>(most_gradients(vector["runs"]))) {
    const htone_grad_scaler_options options = options_of(vector);
    scaler = make<Scaler>(htone_grad_scaler_create, device, &options);
    if (vector.contains("saved")) restore(scaler.get(), vector["saved"]);
    htone_optimizer_options still;
    ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &still));
    still.lr = 0;
    optimizer = make<Optimizer>(htone_optimizer_create, weights.module(), &still);
  }

  // Returns whether the update reported that the scale is at its minimum.
  bool step(const std::vector<double>& gradients) const {
    ok(htone_optimizer_zero_grad(optimizer.get()));
    weights.backward(scaler.get(), gradients);
    ok(htone_grad_scaler_step(scaler.get(), optimizer.get()));
    const htone_status status = htone_grad_scaler_update(scaler.get());
    if (status != HTONE_OK && status != HTONE_ERROR_STATE) throw Mismatch(last_error());
    return status == HTONE_ERROR_STATE;
  }

  Weights weights;
  Scaler scaler;
  Optimizer optimizer;
};

}  // namespace

std::string run_scaler(htone_device* device, const Json& vector) {
  const Trace trace(device, vector);
  const size_t count = most_gradients(vector["runs"]);
  for (const Json& run : vector["runs"]) {
    std::vector<double> gradients = numbers_of(run["gradients"]);
    gradients.resize(count);  // zeros, which every rule ignores
    if (run["step"] == "overflow") gradients.assign(count, std::numeric_limits<double>::infinity());
    bool error = false;
    for (int64_t i = 0; i < run["count"].get<int64_t>(); ++i) error = trace.step(gradients);
    compare(trace.scaler.get(), trace.optimizer.get(), run["expected"], error);
  }
  return "";
}

}  // namespace vectors
