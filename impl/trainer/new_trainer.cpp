#include "trainer/new_trainer.h"

#include <utility>

#include "core/error.h"
#include "nn/own_recipe.h"
#include "trainer/loop.h"

namespace halftone::trainer {

namespace {

ContextDevice& device_of(const nn::Module& model) {
  const std::vector<NamedParameter> parameters = model.parameters();
  if (parameters.empty()) fail(Code::kState, "model", "model has no parameters to train");
  return parameters.front().parameter->device();
}

// The layers get the recipe, too: they keep the magnitudes from which fp8-delayed takes its scales.
Ref<AutocastPolicy> make_policy(nn::Module& model, const NewTrainer& made) {
  const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(made.dtype);
  if (!made.recipe) return policy;
  const Ref<Recipe> recipe = make_ref<Recipe>(*made.recipe);
  policy->set_recipe(recipe);
  nn::set_own_recipes(model, {.path = nullptr, .kind = "linear"}, recipe);
  return policy;
}

optim::ParameterGroup trained_group(const nn::Module& model, const optim::Precision& precision) {
  optim::ParameterGroup group{.parameters = {}, .precision = precision, .argument = "model"};
  const ParameterSet all(model.parameters());
  for (const NamedParameter& named : all.items()) {
    if (!named.parameter->is_frozen()) group.parameters.push_back(named);
  }
  return group;
}

// A gradient that is not finite would make weights so, from which no run recovers.
Ref<optim::Optimizer> make_optimizer(const nn::Module& model, const NewTrainer& made) {
  const Ref<optim::Optimizer> optimizer = optim::make_optimizer(
      made.optimizer.kind, trained_group(model, made.optimizer.precision), made.optimizer.numbers);
  optimizer->set_schedule({made.optimizer.schedule, nullptr});
  optimizer->gradients().set_guard(optim::GradientGuard::kSkip);
  return optimizer;
}

}  // namespace

int64_t batches_per_epoch(const data::Batches& batches) { return batches.sampler()->batches_per_epoch(); }

Ref<Trainer> make_trainer(const Ref<nn::Module>& model, const Ref<data::Batches>& batches, const NewTrainer& made) {
  const Ref<optim::GradScaler> scaler = make_ref<optim::GradScaler>(device_of(*model), made.scaler.settings,
                                                                    made.scaler.initial_scale, made.scaler.enabled);
  Objects objects{.model = model, .batches = batches, .policy = make_policy(*model, made), .scaler = scaler};
  for (const NewTrainer::Step& level : made.levels) {
    objects.levels.push_back({level.name, level.recipe ? make_ref<Recipe>(*level.recipe) : nullptr, level.is_f32});
  }
  objects.make_optimizer = [model, made] { return make_optimizer(*model, made); };
  return make_ref<Loop>(made.settings, std::move(objects));
}

}  // namespace halftone::trainer
