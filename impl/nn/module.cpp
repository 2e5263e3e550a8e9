#include "nn/module.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "autograd/scope.h"
#include "core/error.h"
#include "core/fork_hook.h"
#include "core/inline_list.h"
#include "core/trace.h"
#include "ops/dispatch/recipe.h"
#include "runtime/forward_keys.h"

namespace halftone::nn {

namespace {

// Raised whenever a module is given a parameter, a buffer or a child.
constinit std::atomic<uint64_t> structure_version{0};

// Guards Module::contents_ of all modules. Leaked: threads may still compute while the process exits.
ForkMutex& contents_mutex() {
  static ForkMutex* const mutex = new ForkMutex;
  return *mutex;
}

// The modules of this thread that run inside one another, from the innermost. They need not be children of each other:
// a callback may run any module.
class RunLevel : public RunningLayer {
 public:
  explicit RunLevel(const Module& module)
      : module_(module), innermost_(this), level_(outer() == nullptr ? 1 : outer()->level_ + 1) {
    if (level_ > kMaxModuleDepth) {
      fail(Code::kInvalidArgument, "module",
           "module would be number %d of the modules that run inside one another, expected at most %d",
           kMaxModuleDepth + 1, kMaxModuleDepth);
    }
  }

  // In traces: the path and the kind, "0.fc1 (linear)"; for the outermost module its kind.
  std::string name() const {
    const std::string names = path();
    return names.empty() ? module_.kind() : names + " (" + module_.kind() + ")";
  }

  std::string place() const override {
    const std::string names = path();
    return names.empty() ? names : "layer " + names + " (" + module_.kind() + ")";
  }

  // The names from the outermost module to this one: "0.fc1"; of one that is held several times, the first. A module
  // that is no child of the one around it begins a path of its own. Empty for the outermost.
  std::string path() const override {
    if (outer() == nullptr) return {};
    const Module& parent = outer()->module_;
    for (size_t i = 0; const Module* child = parent.child(i); ++i) {
      if (child != &module_) continue;
      const std::string lead = outer()->path();
      return lead.empty() ? parent.child_name(i) : lead + "." + parent.child_name(i);
    }
    return {};
  }

  bool is_training() const noexcept override { return module_.is_training(); }

 private:
  // Every running layer is a RunLevel.
  const RunLevel* outer() const noexcept { return static_cast<const RunLevel*>(innermost_.outer()); }

  const Module& module_;
  const ThreadGuard<&Scope::layer> innermost_;
  const int level_;
};

// A module whose forward runs again, without the modules that were around it the first time.
class RepeatedLevel final : public RunLevel {
 public:
  RepeatedLevel(const Module& module, const std::string& path) : RunLevel(module), path_(path) {}
  std::string path() const override { return path_; }

 private:
  const std::string& path_;
};

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

Module::Module() = default;
Module::~Module() = default;
Module::Module(const Module& other)
    : RefCounted(),
      depth_(other.depth_),
      recomputes_(other.recomputes_),
      is_training_(other.is_training_),
      own_recipe_(other.own_recipe_) {}

// The history of a recipe is a buffer.
void Module::set_own_recipe(Ref<const OwnRecipe> recipe) noexcept {
  own_recipe_ = std::move(recipe);
  mark_changed();
}

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

const Module* Module::find(std::string_view path) const {
  const Module* found = this;
  for (bool is_last = path.empty(); !is_last && found != nullptr;) {
    const std::string_view name = path.substr(0, path.find('.'));
    is_last = name.size() == path.size();
    if (!is_last) path.remove_prefix(name.size() + 1);
    size_t i = 0;
    while (found->child(i) != nullptr && found->child_name(i) != name) ++i;
    found = found->child(i);
  }
  return found;
}

void Module::replace_parameter(const std::string& name, const Ref<Parameter>& parameter) {
  Ref<Parameter>* const place = parameter_place(name);
  if (place == nullptr || !*place) {
    fail(Code::kInvalidArgument, "name", "name=\"%.200s\" is no parameter of the module itself", name.c_str());
  }
  if (!has_callers_forward() && !(parameter->shape() == (*place)->shape())) {
    fail(Code::kShapeMismatch, "parameter", "parameter %s, expected %s, the shape of %.200s",
         ShapeText(parameter->shape()).text, ShapeText((*place)->shape()).text, name.c_str());
  }
  *place = parameter;
  mark_changed();
}

void Module::mark_changed() noexcept { structure_version.fetch_add(1, std::memory_order_release); }

Ref<const Module::Contents> Module::contents() const {
  const uint64_t version = structure_version.load(std::memory_order_acquire);
  std::unique_lock lock(contents_mutex());
  if (contents_ && contents_->version == version) return contents_;
  lock.unlock();
  Ref<Contents> made = collected();
  made->version = version;
  Ref<const Contents> result = made, former = std::move(made);
  lock.lock();
  std::swap(contents_, former);
  lock.unlock();
  return result;
}

// A walk over all paths, in the order of the names. `path` holds one entry per level.
Ref<Module::Contents> Module::collected() const {
  struct Level {
    const Module* module;
    size_t next_child;
    size_t prefix_length;
  };
  Ref<Contents> result = make_ref<Contents>();
  std::vector<Level> path;
  std::string prefix;
  int64_t met = 0;
  const auto enter = [&](const Module& module) {
    if (++met > kMaxModulePaths) {
      fail(Code::kInvalidArgument, "module", "module leads to more than %lld modules, each counted once per path",
           static_cast<long long>(kMaxModulePaths));
    }
    if (path.size() == kMaxModuleDepth) {
      fail(Code::kInvalidArgument, "module", "module has more than %d modules in one another", kMaxModuleDepth);
    }
    path.push_back({&module, 0, prefix.size()});
    module.append_parameters(prefix, result->parameters);
    module.append_aliases(prefix, result->aliases);
    module.append_buffers(prefix, result->buffers);
  };
  enter(*this);
  while (!path.empty()) {
    Level& level = path.back();
    prefix.resize(level.prefix_length);
    const size_t index = level.next_child++;
    const Module* child = level.module->child(index);
    if (child == nullptr) {
      path.pop_back();
    } else {
      prefix += level.module->child_name(index) + ".";
      enter(*child);
    }
  }
  return result;
}

std::vector<const Module*> Module::all() const {
  std::vector<const Module*> result = {this};
  std::unordered_set<const Module*> met = {this};
  for (size_t next = 0; next < result.size(); ++next) {
    const Module& module = *result[next];
    for (size_t i = 0; module.child(i) != nullptr; ++i) {
      if (met.insert(module.child(i)).second) result.push_back(module.child(i));
    }
  }
  return result;
}

void Module::set_training(bool training) {
  for (const Module* module : all()) module->is_training_ = training;
}

bool Module::holds(const Module& other) const {
  const std::vector<const Module*> modules = all();
  return std::find(modules.begin(), modules.end(), &other) != modules.end();
}

int Module::depth_with(std::span<const Ref<Module>> children, const char* argument) const {
  int depth = depth_;
  for (const Ref<Module>& child : children) depth = std::max(depth, child->depth_ + 1);
  if (depth > kMaxModuleDepth) {
    fail(Code::kInvalidArgument, argument, "%s would lead to %d modules in one another, expected at most %d", argument,
         depth, kMaxModuleDepth);
  }
  return depth;
}

void Module::measure_depth() noexcept {
  depth_ = 1;
  for (size_t i = 0; const Module* part = child(i); ++i) depth_ = std::max(depth_, part->depth_ + 1);
}

void Module::dispose() noexcept { DeadList<Module>::destroy(this); }

}  // namespace halftone::nn
