// Training of ranks that hold the whole model, beside that of one rank.
#pragma once

#include <vector>

#include "autograd/weights/weights.h"
#include "parallel/replicate/sync_batch_norm.h"
#include "replicas.h"

namespace halftone::parallel {

inline constexpr int kSteps = 20;

// One rank on whole batches.
inline std::vector<float> train_alone(const Task& task, MakeOptimizer make_optimizer) {
  const Ref<Context> context = make_rank_context();
  ContextDevice& device = context->device("cpu");
  const Ref<nn::Module> model = task.make_model(device);
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    run_backward_of(task.loss(*model, device, Part::of(step, 0, 1)));
    optimizer->step();
  }
  return weights_of(*model);
}

// A rank on its parts of them.
inline std::vector<float> train_replicated(Rank& rank, const Task& task, MakeOptimizer make_optimizer) {
  const Ref<nn::Module> model = task.make_model(rank.device());
  // Only rank 0 has the model's weights.
  if (rank.number() > 0) fill(model->parameters()[0].parameter->weights().master(), 1.0 + rank.number());
  if (task.has_batch_norm) synchronize_batch_norm(*model, *rank.group);
  const Ref<Replicate> replica = make_ref<Replicate>(*rank.group, model, small_buckets());
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    run_backward_of(task.loss(*model, rank.device(), Part::of(step, rank.number(), rank.group->size())));
    optimizer->step();
  }
  return weights_of(*model);
}

}  // namespace halftone::parallel
