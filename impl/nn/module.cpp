#include "nn/module.h"

#include <algorithm>
#include <unordered_map>

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
