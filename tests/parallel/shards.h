// Loops for tests of ranks that share the state of training.
#pragma once

#include <string>
#include <vector>

#include "autograd/weights/weights.h"
#include "parallel/shard/sharded.h"
#include "replicas.h"

namespace halftone::parallel {

inline constexpr int kShardedSteps = 20;

// Every linear layer, transformer block and convolution is a unit of its own.
inline ShardedOptions small_units(Sharding sharding) {
  ShardedOptions options;
  options.sharding = sharding;
  options.bucket_bytes = 2048;  // several buckets for the other kinds
  return options;
}

inline Ref<Sharded> shard(Rank& rank, nn::Module& model, const ShardedOptions& options) {
  return Sharded::create(*rank.group, nullptr, model, options);
}

inline std::vector<NamedParameter> parameters_once(const nn::Module& model) {
  return ParameterSet(model.parameters()).items();
}

// Two groups of two ranks that share, and average with each other: rank i * 2 + j of four is rank j of group i.
struct HybridGroups {
  HybridGroups(Rank& world, KeyValueStore& store)
      : shards(join(world, store, "shards", world.number() / 2, world.number() % 2)),
        replicas(join(world, store, "replicas", world.number() % 2, world.number() / 2)) {}

  const OwnedGroup shards, replicas;

 private:
  static OwnedGroup join(Rank& world, KeyValueStore& store, const char* kind, int number, int rank) {
    const std::string name = kind + std::to_string(number);
    return create_group(
        "threads", *world.context,
        {.device = world.device().device, .store = &store, .name = name.c_str(), .rank = rank, .size = 2});
  }
};

// Waits for the weights whose gather the last step started, so that all its messages are counted.
inline void settle(const nn::Module& model) { model.parameters().front().parameter->placement().settle(); }

// The weights of a sharded model. Every rank calls it.
inline std::vector<float> gathered_weights(Sharded& sharded, const nn::Module& model) {
  sharded.begin_gather();
  std::vector<float> all;
  for (const NamedParameter& named : parameters_once(model)) {
    const std::vector<float> values = values_of(named.parameter->weights().tensor());
    all.insert(all.end(), values.begin(), values.end());
  }
  sharded.end_gather();
  return all;
}

inline void plain_step(const Task& task, const nn::Module& model, ContextDevice& device, optim::Optimizer& optimizer,
                       const Part& part) {
  optimizer.zero_grad();
  run_backward_of(task.loss(model, device, part));
  optimizer.step();
}

inline std::vector<float> train_sharded(Rank& rank, const Task& task, MakeOptimizer make_optimizer,
                                        const ShardedOptions& options) {
  const Ref<nn::Module> model = task.make_model(rank.device());
  // Only rank 0 has the model's weights.
  if (rank.number() > 0) fill(model->parameters()[0].parameter->weights().master(), 1.0 + rank.number());
  const Ref<Sharded> sharded = shard(rank, *model, options);
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kShardedSteps; ++step) {
    plain_step(task, *model, rank.device(), *optimizer, Part::of(step, rank.number(), rank.group->size()));
  }
  return gathered_weights(*sharded, *model);
}

// One rank that is not sharded, on whole batches.
inline std::vector<float> train_whole(const Task& task, MakeOptimizer make_optimizer) {
  const Ref<Context> context = make_rank_context();
  ContextDevice& device = context->device("cpu");
  const Ref<nn::Module> model = task.make_model(device);
  const Ref<optim::Optimizer> optimizer = make_optimizer(*model);
  for (int step = 0; step < kShardedSteps; ++step) {
    plain_step(task, *model, device, *optimizer, Part::of(step, 0, 1));
  }
  std::vector<float> all;
  for (const NamedParameter& named : parameters_once(*model)) {
    const std::vector<float> values = values_of(named.parameter->weights().master());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace halftone::parallel
