#include "trainer/make_trainer.h"

#include "nn/recipe_options.h"
#include "optim/optimizer_settings.h"
#include "optim/scaler_options.h"
#include "trainer/new_trainer.h"
#include "trainer/trainer_options.h"

namespace halftone::capi {

namespace {

Schedule schedule_of(const htone_trainer_options& options) {
  Schedule schedule;
  if (options.schedule == HTONE_TRAINER_COSINE) {
    schedule.kind = ScheduleKind::kCosine;
    schedule.total_steps = options.steps - options.warmup_steps;
    schedule.final_factor = 0.0;
  }
  if (options.warmup_steps > 0) {
    schedule.warmup_steps = options.warmup_steps;
    schedule.start_factor = 1.0 / static_cast<double>(options.warmup_steps + 1);
  }
  return schedule;
}

void set_optimizer(const CheckedTrainer& checked, trainer::NewTrainer& made) {
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  adamw.lr = checked.options.lr;
  adamw.compute_dtype = static_cast<htone_dtype>(checked.precision->dtype);
  const OptimizerSettings settings = checked_settings(adamw);
  made.optimizer = {settings.kind, settings.precision, settings.numbers, schedule_of(checked.options)};
}

void set_scaler(const CheckedTrainer& checked, trainer::NewTrainer& made) {
  const NewScaler scaler = scaler_options(nullptr);
  made.scaler = {scaler.settings, scaler.initial_scale, checked.precision->dtype == DType::kF16};
}

trainer::Settings settings_of(const htone_trainer_options& options) {
  return {.steps = options.steps,
          .accumulate = options.accumulate,
          .max_grad_norm = options.max_grad_norm,
          .evaluate_every = options.evaluate_every,
          .patience = options.patience,
          .checkpoint_every = options.checkpoint_every,
          .directory = options.checkpoint == nullptr ? "" : options.checkpoint,
          .resumes = options.resume != 0};
}

}  // namespace

Ref<trainer::Trainer> make_trainer(const Ref<nn::Module>& model, const Ref<data::Batches>& batches,
                                   const htone_trainer_options* options) {
  const CheckedTrainer checked = checked_trainer(options, trainer::batches_per_epoch(*batches));
  trainer::NewTrainer made{.settings = settings_of(checked.options),
                           .dtype = checked.precision->dtype,
                           .recipe = {},
                           .optimizer = {},
                           .scaler = {}};
  if (const auto& recipe = checked.precision->recipe) {
    made.recipe = recipe_options(static_cast<htone_recipe_kind>(*recipe), nullptr);
  }
  set_optimizer(checked, made);
  set_scaler(checked, made);
  return trainer::make_trainer(model, batches, made);
}

}  // namespace halftone::capi
