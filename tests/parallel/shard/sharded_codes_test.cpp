// Weights that ranks send as E4M3 codes with one scale for each parameter: their values, messages and memory.
#include <barrier>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "autograd/scope.h"
#include "autograd/weights/weights.h"
#include "core/number/bfloat16.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/recipe.h"
#include "ops/scaled/scaled.h"
#include "parallel/shards.h"

namespace halftone::parallel {
namespace {

constexpr Sharding kShardings[] = {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull};

ShardedOptions in_codes(Sharding sharding, DType dtype = DType::kF8E4M3) {
  ShardedOptions options = small_units(sharding);
  options.weight_dtype = dtype;
  return options;
}

// E4M3 from its definition: 4 bits of exponent with a bias of 7, and 3 of mantissa.
double number_of(int code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

// The nearest number, of two the one with the even code. REQUIRES: finite.
float nearest_number(float value) {
  const double magnitude = std::abs(static_cast<double>(value));
  int best = 0;
  while (best < 126 && number_of(best + 1) <= magnitude) ++best;
  const double below = magnitude - number_of(best), above = number_of(best + 1) - magnitude;
  if (best < 126 && (above < below || (above == below && best % 2 == 1))) ++best;
  return std::copysign(static_cast<float>(number_of(best)), value);
}

// A matrix as operations read it.
std::vector<float> plain_reference(const std::vector<float>& weights) {
  float most = 0;
  for (const float weight : weights) most = std::max(most, std::abs(weight));
  const float scale = most == 0 ? 1 : most / 448;
  std::vector<float> read;
  for (const float weight : weights) read.push_back(BFloat16::from(nearest_number(weight / scale) * scale));
  return read;
}

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// The matrix of 1000 elements begins within a rank's part and ends within another's.
constexpr int64_t kWide = 200;

TEST(SentCodes, AreThoseOfAPlainReferenceOnAnyRanks) {
  for (const Sharding sharding : kShardings) {
    for (const int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, sharding " << static_cast<int>(sharding));
      run_ranks(ranks, [&](Rank& rank) {
        const Ref<nn::Module> model = make_perceptron(rank.device(), kWide);
        std::vector<std::vector<float>> expected;
        for (const NamedParameter& named : model->parameters()) {
          const std::vector<float> master = values_of(named.parameter->weights().master());
          expected.push_back(named.parameter->shape().rank() == 2 ? plain_reference(master) : master);
        }
        const Ref<Sharded> sharded = shard(rank, *model, in_codes(sharding));
        sharded->begin_gather();
        for (size_t i = 0; i < expected.size(); ++i) {
          const Parameter& parameter = *model->parameters()[i].parameter;
          EXPECT_EQ(values_of(parameter.weights().tensor()), expected[i]) << i;
          EXPECT_EQ(parameter.weights().master().dtype(), DType::kF32);
          EXPECT_EQ(parameter.weights().tensor().dtype(), parameter.shape().rank() == 2 ? DType::kBF16 : DType::kF32);
        }
        sharded->end_gather();
      });
    }
  }
}

TEST(SentCodes, AreThoseOfAPlainReferenceInEveryReplica) {
  const OwnedStore store = create_memory_store();
  run_ranks(4, [&](Rank& world) {
    const HybridGroups groups(world, *store);
    const Ref<nn::Module> model = make_perceptron(world.device(), kWide);
    const Parameter& parameter = *model->parameters()[0].parameter;
    const std::vector<float> master = values_of(parameter.weights().master());
    const Ref<Sharded> sharded =
        Sharded::create(*groups.shards, groups.replicas.get(), *model, in_codes(Sharding::kFull));
    sharded->begin_gather();
    EXPECT_EQ(values_of(parameter.weights().tensor()), plain_reference(master));
    sharded->end_gather();
  });
}

// Weights that stay on every rank are decoded when the model is shared: a program may read them at once.
TEST(SentCodes, OfKeptWeightsAreReadBeforeTheFirstStep) {
  run_ranks(2, [](Rank& rank) {
    const Ref<nn::Module> model = make_perceptron(rank.device(), kWide);
    const std::vector<float> master = values_of(model->parameters()[0].parameter->weights().master());
    const Ref<Sharded> sharded =
        Sharded::create(*rank.group, nullptr, model->parameters(), in_codes(Sharding::kGradients));
    EXPECT_EQ(values_of(model->parameters()[0].parameter->weights().read(DType::kF32)), plain_reference(master));
  });
}

// Zeros, numbers at the ends of FP32, infinities and NaN: as quantization of the whole tensor has them.
TEST(SentCodes, OfSpecialWeightsAreThoseOfTheWholeTensor) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float cases[] = {0.0f, 1e-45f, 3e-42f, 1e-38f, 3.4e38f, infinity, -infinity, nan};
  for (const float special : cases) {
    for (const int ranks : {1, 2, 4}) {
      SCOPED_TRACE(testing::Message() << special << " on " << ranks << " ranks");
      run_ranks(ranks, [&](Rank& rank) {
        const Ref<nn::Module> model = make_perceptron(rank.device(), kWide);
        const Parameter& parameter = *model->parameters()[0].parameter;
        const Tensor master = parameter.weights().master();
        // Others are a tenth of a small number, but all beside an infinity or NaN.
        std::vector<float> weights(static_cast<size_t>(master.numel()), special < 1 ? special / 10 : 1.0f);
        weights[700] = special;
        copy(from_host(rank.device(), DType::kF32, master.shape(), weights.data()), master);
        const ops::Scaled whole = ops::to_scaled(master, {});
        const std::vector<float> expected = values_of(ops::from_scaled(whole, DType::kBF16));
        const Ref<Sharded> sharded = shard(rank, *model, in_codes(Sharding::kFull));
        sharded->begin_gather();
        EXPECT_EQ(bits_of(values_of(parameter.weights().tensor())), bits_of(expected));
        sharded->end_gather();
      });
    }
  }
}

// A recipe of the kind CURRENT quantizes the weights that arrived: to the codes that were sent.
TEST(SentCodes, AreThoseOfDecodedWeightsQuantizedAgain) {
  const Ref<Context> context = make_rank_context();
  ContextDevice& device = context->device("cpu");
  std::vector<uint8_t> codes;
  for (int code = 0; code < 256; ++code) {
    if ((code & 127) != 127) codes.push_back(static_cast<uint8_t>(code));  // no NaN
  }
  const auto count = static_cast<int64_t>(codes.size());
  const Tensor sent = from_host(device, DType::kF8E4M3, {1, count}, codes.data());
  std::mt19937 random(1);
  for (int exponent = -100; exponent < 127; ++exponent) {
    for (int i = 0; i < 100; ++i) {
      const float most = std::ldexp(1.0f + static_cast<float>(random() >> 8) * 0x1p-24f, exponent);
      const float scale = most / 448;
      const Tensor scales = full(device, DType::kF32, {}, scale);
      const Tensor arrived =
          ops::from_scaled({.codes = sent, .scales = scales, .tensor_scale = {}, .shape = {1, count}}, DType::kBF16);
      std::vector<uint8_t> again(codes.size());
      read_to_host(ops::to_scaled(arrived, {}).codes, DType::kF8E4M3, again.data());
      ASSERT_EQ(again, codes) << most;
    }
  }
}

// ---- Messages and memory

constexpr int64_t kWidth = 256;
constexpr int kLayers = 4;
constexpr int64_t kWeights = kLayers * kWidth * kWidth;

Ref<nn::Module> make_matrices(ContextDevice& device) {
  std::vector<Ref<nn::Module>> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back(make_ref<nn::Linear>(device, kWidth, kWidth, false, DType::kF32));
  }
  return make_ref<nn::Sequential>(std::move(layers));
}

struct Messages {
  int64_t bytes, count;
};

// The messages of one rank: to gather what was gathered before; in a forward with its backward; in a step with the
// gather after it.
struct Use {
  Messages gather, backward, step;
};

Use use_of(Rank& rank, Sharding sharding, DType dtype) {
  const auto messages_of = [&](const auto& run) {
    const GroupCounters before = rank.group->counters();
    run();
    const GroupCounters after = rank.group->counters();
    return Messages{.bytes = after.bytes_sent - before.bytes_sent, .count = after.operations - before.operations};
  };
  const ScopeGuard restore;
  const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
  scope().autocast = policy.get();
  const Ref<nn::Module> model = make_matrices(rank.device());
  const Ref<Sharded> sharded = shard(rank, *model, in_codes(sharding, dtype));
  const Ref<optim::Optimizer> optimizer = make_sgd(*model);
  const auto backward = [&] {
    run_backward_of(ops::sum(model->run(full(rank.device(), DType::kF32, {1, kWidth}, 0.01)), {}, false));
  };
  const auto gather = [&] {
    sharded->begin_gather();
    sharded->end_gather();
  };
  backward();
  optimizer->step();
  gather();
  Use use = {};
  use.gather = messages_of(gather);
  EXPECT_LT(rank.device().allocator->stats().by_category[static_cast<int>(Category::kCommunication)], kWidth)
      << "codes are gone when they are decoded";
  use.backward = messages_of(backward);
  use.step = messages_of([&] {
    optimizer->step();
    settle(*model);
    gather();
  });
  return use;
}

TEST(SentCodes, HaveHalfTheBytesOfBf16AndOneMessageMoreForAStep) {
  for (const Sharding sharding : kShardings) {
    const bool is_full = sharding == Sharding::kFull;
    for (const int ranks : {2, 4}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, sharding " << static_cast<int>(sharding));
      run_ranks(ranks, [&](Rank& rank) {
        const Use wide = use_of(rank, sharding, DType::kBF16), coded = use_of(rank, sharding, DType::kF8E4M3);
        // The bytes of weights that this rank sends in one gather of all of them.
        const int64_t codes = kWeights / ranks * (ranks - 1);
        const int64_t magnitudes = kLayers * static_cast<int64_t>(sizeof(float)) * ranks;
        EXPECT_EQ(wide.gather.bytes, is_full ? 2 * codes : 0);
        EXPECT_EQ(coded.gather.bytes, is_full ? codes : 0);
        EXPECT_EQ(coded.gather.count, wide.gather.count);
        // In forward and again in backward, under the scales of before.
        EXPECT_EQ(wide.backward.bytes - coded.backward.bytes, is_full ? 2 * codes : 0);
        EXPECT_EQ(coded.backward.count, wide.backward.count);
        EXPECT_LE(wide.step.bytes - coded.step.bytes, codes);
        EXPECT_GE(wide.step.bytes - coded.step.bytes, codes - magnitudes);
        EXPECT_EQ(coded.step.count, wide.step.count + 1);
      });
    }
  }
}

// A step ends without the scales, or with a lost rank; readers get the error.
TEST(SentCodes, OfALostRankAreAnErrorOfWhoeverReadsTheWeights) {
  for (const Sharding sharding : kShardings) {
    SCOPED_TRACE(static_cast<int>(sharding));
    std::barrier together(2);
    run_ranks(2, [&](Rank& rank) {
      const ScopeGuard restore;
      const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
      scope().autocast = policy.get();
      const Ref<nn::Module> model = make_perceptron(rank.device());
      const Ref<Sharded> sharded = shard(rank, *model, in_codes(sharding));
      const Ref<optim::Optimizer> optimizer = make_sgd(*model);
      const auto backward = [&] {
        run_backward_of(perceptron_loss(*model, rank.device(), Part::of(0, rank.number(), 2)));
      };
      backward();
      together.arrive_and_wait();
      if (rank.number() == 1) return rank.group->abort("killed");
      EXPECT_NO_THROW(optimizer->step());
      for (int i = 0; i < 2 && sharding != Sharding::kFull; ++i) {
        EXPECT_EQ(error_of([&] { model->parameters()[0].parameter->leaf(); }).code(), Code::kPeerLost);
      }
      EXPECT_EQ(error_of(backward).code(), Code::kPeerLost);
    });
  }
}

// ---- Training

std::vector<float> train_with(int threads) {
  ContextOptions settings;
  settings.num_threads = threads;
  settings.seed = 7;
  const Ref<Context> context = make_ref<Context>(settings);
  ContextDevice& device = context->device("cpu");
  const OwnedGroup group = create_group("single", *context, {.device = device.device});
  const ScopeGuard restore;
  const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
  policy->set_recipe(
      make_ref<Recipe>(RecipeOptions{.kind = RecipeKind::kCurrent, .gradient_format = NumberFormat::kE5M2}));
  scope().autocast = policy.get();
  const Ref<nn::Module> model = make_perceptron(device, 20000);
  const Ref<Sharded> sharded = Sharded::create(*group, nullptr, *model, in_codes(Sharding::kFull));
  const Ref<optim::Optimizer> optimizer = make_adamw(*model);
  for (int step = 0; step < 2; ++step) plain_step(perceptron(), *model, device, *optimizer, Part::of(step, 0, 1));
  return gathered_weights(*sharded, *model);
}

TEST(SentCodes, HaveTheSameBitsOnAnyThreads) {
  const std::vector<float> expected = train_with(1);
  for (const int threads : {2, 3, 4}) EXPECT_EQ(train_with(threads), expected) << threads;
}

}  // namespace
}  // namespace halftone::parallel
