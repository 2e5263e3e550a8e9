#include "nn/module.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/fork_hook.h"
#include "ops/dispatch/recipe.h"

namespace halftone::nn {

namespace {

// Raised whenever a module is given a parameter, a buffer or a child.
constinit std::atomic<uint64_t> structure_version{0};

// Guards Module::contents_ of all modules. Leaked: threads may still compute while the process exits.
ForkMutex& contents_mutex() {
  static ForkMutex* const mutex = new ForkMutex;
  return *mutex;
}

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
