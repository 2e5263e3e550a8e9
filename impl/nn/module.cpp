#include "nn/module.h"

#include <algorithm>

#include "core/error.h"

namespace halftone::nn {

Tensor Module::run(const Tensor& input) const {
  Tensor given = input;
  forward_pre_hooks_.each([&](const auto& hook) {
    if (const Tensor replacement = hook(*this, given); replacement.defined()) given = replacement;
  });
  Tensor output = forward(given);
  forward_hooks_.each([&](const auto& hook) {
    if (const Tensor replacement = hook(*this, given, output); replacement.defined()) output = replacement;
  });
  return output;
}

// Each module is counted once, however many ways lead to it. Nests as deep as modules do.
int64_t Module::count_ways(Ways& known) const {
  if (const auto found = known.find(this); found != known.end()) return found->second;
  int64_t ways = 1;
  for (size_t i = 0; part(i) != nullptr; ++i) ways = std::min(ways + part(i)->count_ways(known), kMaxModuleWays + 1);
  known.emplace(this, ways);
  return ways;
}

void Module::require_names_in_bounds() const {
  Ways known;
  if (count_ways(known) <= kMaxModuleWays) return;
  fail(Code::kInvalidArgument, "module", "module leads to more than %lld modules, each counted in every place it has",
       static_cast<long long>(kMaxModuleWays));
}

std::vector<NamedParameter> Module::parameters() const {
  require_names_in_bounds();
  std::vector<NamedParameter> result;
  append_parameters("", result);
  return result;
}

std::vector<NamedBuffer> Module::buffers() const {
  require_names_in_bounds();
  std::vector<NamedBuffer> result;
  append_buffers("", result);
  return result;
}

void Module::set_training(bool training) {
  Ways known;
  count_ways(known);
  for (const auto& [module, ways] : known) module->is_training_ = training;
}

void Module::raise_level(int level) const noexcept {
  int known = level_.load(std::memory_order_relaxed);
  while (known < level && !level_.compare_exchange_weak(known, level, std::memory_order_relaxed)) {
  }
}

// Levels rise on the way down, and a part is walked again only where a longer way leads to it: 2^n ways through n
// modules are n steps. On a way back to this module every level would rise, so that the walk does not miss it.
void Module::place_parts(std::span<const Ref<Module>> parts, const char* argument) const {
  std::unordered_map<const Module*, int> raised;
  std::vector<const Module*> pending;
  const auto place = [&](const Module& part, int level) {
    if (&part == this) {
      fail(Code::kInvalidArgument, argument, "%s is the module itself or holds it, and would go round for ever",
           argument);
    }
    int& known = raised.try_emplace(&part, part.level_.load(std::memory_order_relaxed)).first->second;
    if (level <= known) return;
    known = level;
    pending.push_back(&part);
  };
  const int below = level_.load(std::memory_order_relaxed) + 1;
  for (const Ref<Module>& part : parts) place(*part, below);
  while (!pending.empty()) {
    const Module& module = *pending.back();
    pending.pop_back();
    const int level = raised.at(&module) + 1;
    for (size_t i = 0; module.part(i) != nullptr; ++i) place(*module.part(i), level);
  }
  int deepest = 0;
  for (const auto& [module, level] : raised) deepest = std::max(deepest, level);
  if (deepest >= kMaxModuleDepth) {
    fail(Code::kInvalidArgument, argument, "%s would lead to %d modules in one another, expected at most %d", argument,
         deepest + 1, kMaxModuleDepth);
  }
  for (const auto& [module, level] : raised) module->raise_level(level);
}

}  // namespace halftone::nn
