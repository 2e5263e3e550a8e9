// Makes a trainer from settings alone: the objects of a precision, and AdamW or another rule.
#pragma once

#include <optional>
#include <vector>

#include "backend/formula/grad_scaler.h"
#include "backend/formula/schedule.h"
#include "optim/kinds.h"
#include "trainer/precision.h"
#include "trainer/settings.h"
#include "trainer/trainer.h"

namespace halftone::nn {
class Module;  // nn/module.h
}

namespace halftone::trainer {

struct NewTrainer {
  Settings settings;
  DType dtype;                          // of products
  std::optional<RecipeOptions> recipe;  // of linear layers
  // The precisions of a module that keeps overflowing, the first one that of all modules.
  struct Step {
    const char* name;
    std::optional<RecipeOptions> recipe;
    bool is_f32;
  };
  std::vector<Step> levels;
  struct {
    optim::Kind kind;
    optim::Precision precision;
    std::vector<double> numbers;  // in the order of optim::settings_of
    Schedule schedule;
  } optimizer;
  struct {
    ScalerSettings settings;
    float initial_scale;
    bool enabled;
  } scaler;
};

int64_t batches_per_epoch(const data::Batches& batches);

// Throws STATE naming "model" if it has no parameters.
Ref<Trainer> make_trainer(const Ref<nn::Module>& model, const Ref<data::Batches>& batches, const NewTrainer& made);

}  // namespace halftone::trainer
