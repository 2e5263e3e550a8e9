#include "trainer/make_trainer.h"

#include "base/arguments.h"
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

const char* text_or(const char* text, const char* otherwise) { return text == nullptr ? otherwise : text; }

// The least precise first. FP8 is raised to BF16 alone, in which all else computes.
void set_levels(const trainer::Precision& precision, trainer::NewTrainer& made) {
  made.levels = {{precision.name, made.recipe, false}};
  if (precision.recipe == RecipeKind::kNvfp4) {
    made.levels.push_back({"mxfp8", recipe_options(HTONE_RECIPE_MXFP8, nullptr), false});
  }
  if (precision.recipe) made.levels.push_back({"bf16", {}, false});
  if (precision.dtype == DType::kF16) made.levels.push_back({"fp32", {}, true});
}

trainer::Settings settings_of(const htone_trainer_options& options) {
  return {.steps = options.steps,
          .accumulate = options.accumulate,
          .max_grad_norm = options.max_grad_norm,
          .evaluate_every = options.evaluate_every,
          .patience = options.patience,
          .checkpoint_every = options.checkpoint_every,
          .fallback_after = options.fallback_after,
          .directory = text_or(options.checkpoint, ""),
          .log = text_or(options.log, ""),
          .label = options.label != nullptr ? checked_name(options.label, "options.label")
                                            : text_or(options.precision, "bf16"),
          .resumes = options.resume != 0};
}

}  // namespace

Ref<trainer::Trainer> make_trainer(const Ref<nn::Module>& model, const Ref<data::Batches>& batches,
                                   const htone_trainer_options* options) {
  const CheckedTrainer checked = checked_trainer(options, trainer::batches_per_epoch(*batches));
  trainer::NewTrainer made{.settings = settings_of(checked.options),
                           .dtype = checked.precision->dtype,
                           .recipe = {},
                           .levels = {},
                           .optimizer = {},
                           .scaler = {}};
  if (const auto& recipe = checked.precision->recipe) {
    made.recipe = recipe_options(static_cast<htone_recipe_kind>(*recipe), nullptr);
  }
  set_levels(*checked.precision, made);
  set_optimizer(checked, made);
  set_scaler(checked, made);
  return trainer::make_trainer(model, batches, made);
}

}  // namespace halftone::capi
