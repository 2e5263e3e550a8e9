// Sharded training of a program that has its own forward and backward: over its own weights, or over the library's.
#include <memory>

#include "autograd/weights/weights.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr int64_t kMatrix = 37;  // several blocks; their number does not divide by that of ranks
constexpr int64_t kVector = 300;
constexpr int kSteps = 6;

// The program: its weights and gradients are its own arrays.
struct Program {
  explicit Program(ContextDevice& device, bool lends_weights = true) {
    add(device, "matrix", {kMatrix, kMatrix}, lends_weights);
    add(device, "vector", {kVector}, lends_weights);
  }
  void add(ContextDevice& device, const char* name, const Shape& shape, bool lends_weights) {
    const auto size = static_cast<size_t>(numel(shape));
    std::vector<float> first(size);
    for (size_t i = 0; i < size; ++i) first[i] = std::sin(static_cast<float>(i));
    weights.push_back(std::make_unique<std::vector<float>>(first));
    gradients.push_back(std::make_unique<std::vector<float>>(size));
    const Tensor master = lends_weights ? borrow(device, *weights.back(), shape)
                                        : from_host(device, DType::kF32, shape, first.data(), Category::kParameters);
    const MasterMemory memory = lends_weights ? MasterMemory::kShared : MasterMemory::kOwn;
    parameters.push_back({name, make_ref<Parameter>(name, master, memory)});
    brought.push_back(borrow(device, *gradients.back(), shape));
  }
  static Tensor borrow(ContextDevice& device, std::vector<float>& values, const Shape& shape) {
    return Tensor(Storage::borrow(device, values.data()), DType::kF32, shape, contiguous_strides(shape), 0);
  }
  // The gradient of row `row` of a batch is that of a quadratic function around a place of its own.
  void compute(const std::vector<std::vector<float>>& read, int step, int first_row, int last_row) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      for (size_t j = 0; j < gradients[i]->size(); ++j) {
        float sum = 0;
        for (int row = first_row; row < last_row; ++row) {
          sum += read[i][j] - std::cos(static_cast<float>(j + static_cast<size_t>(row * 3 + step)));
        }
        (*gradients[i])[j] = sum / static_cast<float>(last_row - first_row);
      }
    }
  }
  void bring() {
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].parameter->accumulator().bring_grad(brought[i]);
  }
  std::vector<std::vector<float>> own_weights() const { return {*weights[0], *weights[1]}; }

  std::vector<std::unique_ptr<std::vector<float>>> weights;
  std::vector<std::unique_ptr<std::vector<float>>> gradients;
  std::vector<NamedParameter> parameters;
  std::vector<Tensor> brought;
};

Ref<optim::Optimizer> make_optimizer(const Program& program) {
  const AdamwGroup settings{.lr = 0.02, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  return make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = program.parameters, .precision = {}}, settings);
}

constexpr int kBatch = 12;

std::vector<std::vector<float>> train_alone() {
  const Ref<Context> context = make_rank_context();
  Program program(context->device("cpu"));
  const Ref<optim::Optimizer> optimizer = make_optimizer(program);
  for (int step = 0; step < kSteps; ++step) {
    program.compute(program.own_weights(), step, 0, kBatch);
    program.bring();
    optimizer->step();
  }
  return program.own_weights();
}

void expect_close(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(relative_difference(a[i], b[i]), 1e-5) << i;
}

int64_t bytes_of(Rank& rank, Category category) {
  return rank.device().allocator->stats().by_category[static_cast<int>(category)];
}

// The gradients are brought once, and written anew for each step, without zero_grad.
void train_over_own_weights(Rank& rank, ShardedOptions options, const std::vector<std::vector<float>>& expected) {
  Program program(rank.device());
  if (rank.number() > 0) std::fill(program.weights[0]->begin(), program.weights[0]->end(), 3.0f);
  const Ref<Sharded> sharded = Sharded::create(*rank.group, nullptr, program.parameters, options);
  EXPECT_EQ((*program.weights[0])[1], std::sin(1.0f)) << "the first rank's weights";
  const Ref<optim::Optimizer> optimizer = make_optimizer(program);
  program.bring();
  const int ranks = rank.group->size(), rows = kBatch / ranks;
  for (int step = 0; step < kSteps; ++step) {
    program.compute(program.own_weights(), step, rank.number() * rows, (rank.number() + 1) * rows);
    const std::vector<float> before = *program.gradients[0];
    for (const NamedParameter& named : program.parameters) sharded->mark_ready(*named.parameter);
    sharded->finish();
    EXPECT_EQ(*program.gradients[0], before) << "a gradient stays as the program wrote it";
    optimizer->step();
  }
  expect_close(program.own_weights(), expected);
  EXPECT_EQ(bytes_of(rank, Category::kParameters), 0) << "the weights are the program's alone";
  EXPECT_EQ(program.parameters[0].parameter->weights().tensor().data(), program.weights[0]->data());
  if (options.sharding == Sharding::kOptimizer || ranks == 1) return;
  const int64_t all = 4 * (kMatrix * kMatrix + kVector);
  EXPECT_LE(bytes_of(rank, Category::kGradients), all / ranks + 4 * 4 * 256);
}

TEST(ShardedLent, WeightsOfTheProgramStayInItsMemoryAndAreLikeThoseOfOneRank) {
  const std::vector<std::vector<float>> expected = train_alone();
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    for (const int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, sharding " + std::to_string(static_cast<int>(sharding)));
      ShardedOptions options = small_units(sharding);
      options.weight_dtype = DType::kF8E4M3;  // not of weights in the program's memory
      run_ranks(ranks, [&](Rank& rank) { train_over_own_weights(rank, options, expected); });
    }
  }
}

TEST(ShardedLent, MomentsOfTheProgramsWeightsMayBeOffloaded) {
  const std::vector<std::vector<float>> expected = train_alone();
  ShardedOptions options = small_units(Sharding::kOptimizer);
  options.offload = Offload::kHost;
  run_ranks(2, [&](Rank& rank) { train_over_own_weights(rank, options, expected); });
}

TEST(ShardedLent, SumsOfDeterministicRoundsAreAdded) {
  for (const int ranks : {1, 2}) {
    run_ranks(ranks, [&](Rank& rank) {
      Program program(rank.device());
      ShardedOptions options = small_units(Sharding::kGradients);
      options.is_deterministic = true;
      const Ref<Sharded> sharded = Sharded::create(*rank.group, nullptr, program.parameters, options);
      for (int round = 0; round < 4 / ranks; ++round) {
        for (const auto& gradient : program.gradients) {
          std::fill(gradient->begin(), gradient->end(), static_cast<float>(1 + round * ranks + rank.number()));
        }
        program.bring();
        for (const NamedParameter& named : program.parameters) sharded->mark_ready(*named.parameter);
        sharded->finish();
      }
      const Tensor& sum = program.parameters[0].parameter->placement().shard_grad();
      if (sum.numel() > 0) {
        EXPECT_EQ(values_of(sum)[0], 10.0f);
      }
    });
  }
}

// Weights of the library's are read while they are gathered.
TEST(ShardedLent, FullyShardedWeightsAreReadInAScope) {
  const std::vector<std::vector<float>> expected = train_alone();
  for (const int ranks : {1, 2, 3}) {
    run_ranks(ranks, [&](Rank& rank) {
      Program program(rank.device(), false);
      const Ref<Sharded> sharded =
          Sharded::create(*rank.group, nullptr, program.parameters, small_units(Sharding::kFull));
      const Ref<optim::Optimizer> optimizer = make_optimizer(program);
      const auto read = [&] {
        sharded->begin_gather();
        std::vector<std::vector<float>> all;
        for (const NamedParameter& named : program.parameters)
          all.push_back(values_of(named.parameter->weights().tensor()));
        sharded->end_gather();
        return all;
      };
      const int rows = kBatch / ranks;
      for (int step = 0; step < kSteps; ++step) {
        program.compute(read(), step, rank.number() * rows, (rank.number() + 1) * rows);
        program.bring();
        for (const NamedParameter& named : program.parameters) sharded->mark_ready(*named.parameter);
        sharded->finish();
        optimizer->step();
      }
      expect_close(read(), expected);
    });
  }
}

TEST(ShardedLent, WeightsOfTheProgramCannotBeSharedFully) {
  run_ranks(2, [](Rank& rank) {
    const Program program(rank.device());
    const Error error =
        error_of([&] { Sharded::create(*rank.group, nullptr, program.parameters, small_units(Sharding::kFull)); });
    EXPECT_EQ(error.code(), Code::kUnsupported);
    EXPECT_TRUE(contains(error, "expected sharding optimizer or gradients")) << error.what();
  });
}

TEST(ShardedLent, TwiceOrWithoutGradientOrOfAStrangerIsAnError) {
  run_ranks(1, [](Rank& rank) {
    Program program(rank.device());
    const Program other(rank.device());
    const Ref<Sharded> sharded =
        Sharded::create(*rank.group, nullptr, program.parameters, small_units(Sharding::kGradients));
    Parameter& parameter = *program.parameters[0].parameter;
    EXPECT_TRUE(contains(error_of([&] { sharded->mark_ready(parameter); }), "has no gradient"));
    EXPECT_TRUE(contains(error_of([&] { sharded->finish(); }), "no gradient was marked"));
    program.bring();
    EXPECT_TRUE(contains(error_of([&] { sharded->mark_ready(*other.parameters[0].parameter); }), "no parameter"));
    sharded->mark_ready(parameter);
    EXPECT_TRUE(contains(error_of([&] { sharded->mark_ready(parameter); }), "complete already"));
    const Tensor loss = ops::sum(program.parameters[1].parameter->leaf(), {}, false);
    EXPECT_TRUE(contains(error_of([&] { run_backward_of(loss); }), "finish them before a backward"));
    EXPECT_TRUE(contains(error_of([&] { sharded->finish(); }), "vector on rank 0"));
    EXPECT_FALSE(parameter.has_shard_grad());
  });
}

}  // namespace
}  // namespace halftone::parallel
