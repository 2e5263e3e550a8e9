// One run of a module: the checks of its tensors, its hooks, recipe and recompute region around forward_all.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/inline_list.h"
#include "core/trace.h"
#include "nn/run_level.h"
#include "ops/dispatch/recipe.h"
#include "runtime/forward_keys.h"

namespace halftone::nn {

namespace {

// "1 to 3", or "1" where both are equal.
struct CountText {
  CountText(size_t least, size_t most) {
    if (least == most) {
      std::snprintf(text, sizeof text, "%zu", most);
    } else {
      std::snprintf(text, sizeof text, "%zu to %zu", least, most);
    }
  }
  char text[48];
};

// Puts the replacements that are defined in the place of the tensors.
void replace(std::span<Tensor> tensors, std::span<const Tensor> replacements) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (replacements[i].defined()) tensors[i] = replacements[i];
  }
}

// "layer 0.fc1 (linear): ". Empty where there is no memory for it.
std::string lead_of(const RunLevel& level) noexcept {
  try {
    const std::string place = level.place();
    return place.empty() ? place : place + ": ";
  } catch (...) {
    return {};
  }
}

// Not inlined, to keep it out of run's frame, which is on the stack once for each level of modules.
[[gnu::noinline]] void tell_place(Error& error, const RunLevel& level) noexcept {
  error.tell_place(lead_of(level).c_str());
}

[[gnu::noinline]] const char* name_in_trace(const RunLevel& level) { return trace_name(level.name()); }

}  // namespace

void Module::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const RunLevel level(*this);
  try {
    if (is_tracing()) [[unlikely]] {
      run_in_trace(name_in_trace(level), inputs, outputs);
    } else {
      compute(inputs, outputs);
    }
  } catch (Error& error) {
    tell_place(error, level);
    throw;
  }
}

inline void Module::compute(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  if (!has_all_tensors(inputs, outputs.size())) {
    run_padded(inputs, outputs);
  } else if (forward_pre_hooks_ || forward_hooks_) {
    forward_with_hooks(inputs, outputs);
  } else {
    forward_by_recipe(inputs, outputs);
  }
}

inline void Module::forward_by_recipe(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  if (own_recipe_) [[unlikely]] {
    forward_by_own_recipe(inputs, outputs);
  } else {
    forward_marked(inputs, outputs);
  }
}

void Module::forward_by_own_recipe(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const ThreadGuard<&Scope::recipe> around(own_recipe_.get());
  forward_marked(inputs, outputs);
}

inline void Module::forward_marked(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  if (recomputes_ && scope().grad_enabled && scope().recompute == nullptr) [[unlikely]] {
    forward_in_region(inputs, outputs);
  } else {
    forward_all(inputs, outputs);
  }
}

void Module::forward_again(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::string& path) const {
  const RepeatedLevel level(*this, path);
  const TraceSpan span(TraceKind::kLayer, [&] { return level.name(); });
  try {
    forward_all(inputs, outputs);
  } catch (Error& error) {
    tell_place(error, level);
    throw;
  }
}

void Module::run_in_trace(const char* name, std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const TraceSpan span(TraceKind::kLayer, name);
  compute(inputs, outputs);
}

Tensor Module::run(const Tensor& input) const {
  Tensor output;
  run({&input, 1}, {&output, 1});
  return output;
}

void Module::run_fused(const std::function<void()>& computation) const {
  const RunLevel level(*this);
  const TraceSpan span(TraceKind::kLayer, [&] { return level.name(); });
  const ThreadGuard<&Scope::recipe> around(own_recipe_ ? own_recipe_.get() : scope().recipe);
  try {
    computation();
  } catch (Error& error) {
    tell_place(error, level);
    throw;
  }
}

bool Module::may_be_fused() const noexcept {
  return !forward_pre_hooks_ && !forward_hooks_ && !recomputes_ && scope().anomaly == Anomaly::kNothing;
}

bool Module::has_all_tensors(std::span<const Tensor> inputs, size_t output_count) const {
  const Arity arity = this->arity();
  if (inputs.size() < arity.required_inputs || inputs.size() > arity.inputs) {
    fail(Code::kInvalidArgument, "input_count", "input_count=%zu for a module of kind %s, expected %s", inputs.size(),
         kind(), CountText(arity.required_inputs, arity.inputs).text);
  }
  for (size_t i = 0; i < arity.required_inputs; ++i) {
    if (inputs[i].defined()) continue;
    fail(Code::kInvalidArgument, "inputs", "inputs[%zu] is NULL, which a module of kind %s does not allow", i, kind());
  }
  if (output_count < 1 || output_count > arity.outputs) {
    fail(Code::kInvalidArgument, "output_count", "output_count=%zu for a module of kind %s, expected %s", output_count,
         kind(), CountText(1, arity.outputs).text);
  }
  return inputs.size() == arity.inputs && output_count == arity.outputs;
}

void Module::run_padded(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const Arity arity = this->arity();
  constexpr size_t kUsual = 4;
  InlineList<Tensor, kUsual> all_inputs(arity.inputs), all_outputs(arity.outputs);
  std::copy(inputs.begin(), inputs.end(), all_inputs.begin());
  forward_with_hooks({all_inputs.begin(), all_inputs.size()}, {all_outputs.begin(), all_outputs.size()});
  std::move(all_outputs.begin(), all_outputs.begin() + outputs.size(), outputs.begin());
}

void Module::forward_with_hooks(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const ForwardKeysGuard keys;  // hooks may change them for this forward
  std::vector<Tensor> replaced;
  if (forward_pre_hooks_) {
    replaced.assign(inputs.begin(), inputs.end());
    call_pre_hooks(replaced);
    inputs = replaced;
  }
  forward_by_recipe(inputs, outputs);
  if (forward_hooks_) call_hooks(inputs, outputs);
}

void Module::call_pre_hooks(std::span<Tensor> inputs) const {
  std::vector<Tensor> replacements;
  forward_pre_hooks_.each([&](const auto& hook) {
    replacements.assign(inputs.size(), Tensor());
    hook(*this, inputs, replacements);
    replace(inputs, replacements);
  });
}

void Module::call_hooks(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  std::vector<Tensor> replacements;
  forward_hooks_.each([&](const auto& hook) {
    replacements.assign(outputs.size(), Tensor());
    hook(*this, inputs, outputs, replacements);
    replace(outputs, replacements);
  });
}

}  // namespace halftone::nn
