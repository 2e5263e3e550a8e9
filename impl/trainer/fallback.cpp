#include "trainer/fallback.h"

#include <algorithm>
#include <utility>

#include "autograd/scope.h"
#include "core/log.h"

namespace halftone::trainer {

namespace {

Ref<AutocastPolicy> in_f32(const AutocastPolicy& policy) {
  const Ref<AutocastPolicy> wide = make_ref<AutocastPolicy>(policy.dtype());
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (!is_computing(op)) continue;
    wide->set(op, policy.get(op) == AutocastClass::kLow ? AutocastClass::kFp32 : policy.get(op));
  }
  return wide;
}

// While the module runs under `narrow`, its operations have `wide`. Leaves do not nest, so the policy before is known.
void run_under(nn::Module& leaf, const Ref<AutocastPolicy>& narrow, const Ref<AutocastPolicy>& wide) {
  leaf.forward_pre_hooks().add([narrow, wide](const nn::Module&, std::span<const Tensor>, std::span<Tensor>) {
    if (scope().autocast == narrow.get()) scope().autocast = wide.get();
  });
  leaf.forward_hooks().add(
      [narrow, wide](const nn::Module&, std::span<const Tensor>, std::span<const Tensor>, std::span<Tensor>) {
        if (scope().autocast == wide.get()) scope().autocast = narrow.get();
      });
}

// The history of magnitudes stays: checkpoints have it.
void set_recipe(nn::Module& leaf, const Ref<const Recipe>& recipe) {
  const AmaxHistory history = leaf.own_recipe() ? leaf.own_recipe()->history : AmaxHistory();
  leaf.set_own_recipe(make_ref<OwnRecipe>(recipe, history));
}

}  // namespace

Fallback::Fallback(nn::Module& model, const Ref<AutocastPolicy>& policy, std::vector<Level> levels, int64_t after)
    : finder_(model),
      policy_(policy),
      policy_in_f32_(in_f32(*policy)),
      levels_(std::move(levels)),
      after_(after),
      steps_without_(kForgottenAfter),
      overflows_(finder_.leaves().size()),
      raised_(finder_.leaves().size()) {}

// A result that is not finite is known only where the modules were watched.
void Fallback::begin_step() {
  finder_.clear();
  finder_.watch(steps_without_ < kForgottenAfter);
}

std::optional<Fallback::Raise> Fallback::end_step(bool skipped, bool loss_is_finite, const Group* group) {
  if (!skipped) {
    if (++steps_without_ == kForgottenAfter) std::fill(overflows_.begin(), overflows_.end(), 0);
    return std::nullopt;
  }
  steps_without_ = 0;
  return count(finder_.find(loss_is_finite, group));
}

std::optional<Fallback::Raise> Fallback::count(int64_t leaf) {
  if (leaf < 0) return std::nullopt;
  const size_t i = static_cast<size_t>(leaf);
  if (++overflows_[i] < after_ || raised_[i] + 1 >= levels_.size()) return std::nullopt;
  overflows_[i] = 0;
  const char* from = levels_[raised_[i]++].name;
  apply(i);
  log_warning("the module %s has overflowed in %lld steps: it computes in %s from now on, in place of %s",
              finder_.leaves()[i].path.c_str(), static_cast<long long>(after_), levels_[raised_[i]].name, from);
  return Raise{finder_.leaves()[i].path, from, levels_[raised_[i]].name};
}

void Fallback::apply(size_t leaf) {
  nn::Module& module = *finder_.leaves()[leaf].module;
  const Level& level = levels_[raised_[leaf]];
  if (level.is_f32) {
    run_under(module, policy_, policy_in_f32_);
  } else {
    set_recipe(module, level.recipe);
  }
}

std::vector<double> Fallback::numbers() const {
  std::vector<double> numbers = {static_cast<double>(steps_without_)};
  for (const int64_t count : overflows_) numbers.push_back(static_cast<double>(count));
  for (const size_t level : raised_) numbers.push_back(static_cast<double>(level));
  return numbers;
}

void Fallback::set_numbers(const std::vector<double>& numbers) {
  steps_without_ = static_cast<int64_t>(numbers[0]);
  for (size_t i = 0; i < raised_.size(); ++i) {
    overflows_[i] = static_cast<int64_t>(numbers[1 + i]);
    raised_[i] = std::min(static_cast<size_t>(numbers[1 + raised_.size() + i]), levels_.size() - 1);
    if (raised_[i] > 0) apply(i);
  }
}

}  // namespace halftone::trainer
