// Steps of training through the C interface.
#pragma once

#include <utility>

#include "bench/train/models.h"

namespace halftone::bench {

class Trainer {
 public:
  Trainer(TrainTask task, const htone::Device& device, htone_dtype precision) : task_(std::move(task)) {
    htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
    adamw.compute_dtype = precision;
    optimizer_ = htone::make<htone::Optimizer>(htone_optimizer_create, task_.module, &adamw);
    htone_grad_scaler_options scaler = HTONE_GRAD_SCALER_OPTIONS_INIT;
    scaler.enabled = precision == HTONE_F16;
    scaler_ = htone::make<htone::GradScaler>(htone_grad_scaler_create, device, &scaler);
    if (precision != HTONE_F32) {
      policy_ = htone::make<htone::AutocastPolicy>(htone_autocast_policy_create, precision);
    }
  }

  // Linear layers multiply by this recipe from now on. REQUIRES: not in FP32.
  void set_recipe(htone_recipe_kind kind) {
    size_t count;
    const auto recipe = htone::make<htone::Recipe>(htone_recipe_create, kind, nullptr);
    htone::call(htone_autocast_policy_set_recipe, policy_, recipe);
    htone::call(htone_module_set_recipe_matching, task_.module, nullptr, "linear", recipe, &count);
  }

  struct Losses {
    htone::Tensor loss;
    htone::Tensor scaled;  // by the scaler
  };

  Losses forward() {
    const auto output = htone::make<htone::Tensor>(htone_module_forward, task_.module, task_.input, policy_);
    const int64_t rows[] = {-1, task_.classes};
    const auto logits = htone::make<htone::Tensor>(htone_reshape, output, 2, rows);
    const auto loss = htone::make<htone::Tensor>(htone_cross_entropy, logits, task_.target, nullptr);
    return {.loss = loss, .scaled = htone::make<htone::Tensor>(htone_grad_scaler_scale, scaler_, loss)};
  }

  void step() {
    htone::call(htone_optimizer_zero_grad, optimizer_);
    const Losses losses = forward();
    htone::call(htone_tensor_backward, losses.scaled, nullptr, 0);
    htone::call(htone_grad_scaler_step, scaler_, optimizer_);
    htone::call(htone_grad_scaler_update, scaler_);
    last_loss_ = losses.loss.item();
  }

  const TrainTask& task() const { return task_; }
  const htone::Optimizer& optimizer() const { return optimizer_; }
  double last_loss() const { return last_loss_; }

 private:
  TrainTask task_;
  htone::Optimizer optimizer_;
  htone::GradScaler scaler_;
  htone::AutocastPolicy policy_;
  double last_loss_ = 0;
};

}  // namespace halftone::bench
