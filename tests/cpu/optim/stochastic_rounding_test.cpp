// Stochastic rounding of weights: counted over all random words, and in the update kernels.
#include "backend/formula/stochastic_rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "backend/formula/adamw.h"
#include "backend/formula/rounding_key.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Converts FP16 by its definition.
double from_f16(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return mantissa == 0 ? sign * kInfinity : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

// The mean over all random words, and the set of resulting codes.
struct Count {
  double mean = 0;
  std::set<uint16_t> codes;
};

template <class Round, class Read>
Count count_words(float value, Round round, Read read) {
  Count count;
  for (int word = 0; word < 65536; ++word) {
    const uint16_t code = round(value, static_cast<uint16_t>(word));
    count.codes.insert(code);
    count.mean += read(code) / 65536.0;  // exact: a double holds all bits of the terms
  }
  return count;
}

TEST(StochasticRounding, OfBf16HasTheValueItselfAsItsMean) {
  uint32_t bits = 0x12345678;
  for (int i = 0; i < 200; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const float value = std::bit_cast<float>((bits & 0x807fffff) | (60u + bits % 120u) << 23);
    const Count count = count_words(value, round_to_bf16, from_bf16);
    ASSERT_EQ(count.mean, static_cast<double>(value)) << value;
    ASSERT_LE(count.codes.size(), 2u);
  }
  for (const float value : {1e-40f, -3e-45f, 1.17e-38f, 0.0f}) {  // FP32 subnormals, which are BF16 subnormals, too
    EXPECT_EQ(count_words(value, round_to_bf16, from_bf16).mean, static_cast<double>(value)) << value;
  }
}

TEST(StochasticRounding, OfF16HasTheValueItselfAsItsMean) {
  uint32_t bits = 0x12345678;
  for (int i = 0; i < 200; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const float value = std::bit_cast<float>((bits & 0x807fffff) | (110u + bits % 32u) << 23);  // 2^-17 to 2^14
    const Count count = count_words(value, round_to_f16, from_f16);
    ASSERT_EQ(count.mean, static_cast<double>(value)) << value;
    ASSERT_LE(count.codes.size(), 2u);
  }
}

TEST(StochasticRounding, OfF16KnowsSmallSubnormalsToTheWordsResolution) {
  for (const float value : {0x1p-25f, 0x1.234568p-24f, -0x1.fffffep-18f, 0x1.abcdeep-30f, 0x1p-41f, -0x1p-40f}) {
    EXPECT_NEAR(count_words(value, round_to_f16, from_f16).mean, value, 0x1p-41) << value;
  }
  for (const float value : {0x1p-42f, -1e-20f, 1e-40f, 0.0f}) {
    EXPECT_EQ(count_words(value, round_to_f16, from_f16).mean, 0) << value;
  }
  EXPECT_EQ(round_to_f16(-0.0f, 65535), 0x8000);
  // Rounds up to the smallest normal number.
  EXPECT_EQ(count_words(0x1.fffffep-15f, round_to_f16, from_f16).codes, (std::set<uint16_t>{0x03ff, 0x0400}));
}

TEST(StochasticRounding, LeavesNumbersOfTheFormatAsTheyAre) {
  for (const uint16_t word : {0, 1, 0x7fff, 0x8000, 0xffff}) {
    for (uint32_t code = 0; code < 0x10000; ++code) {
      const auto bits = static_cast<uint16_t>(code);
      const float brain = from_bf16(bits), half = static_cast<float>(from_f16(bits));
      ASSERT_TRUE(std::isnan(brain) || round_to_bf16(brain, word) == bits) << brain << " " << word;
      ASSERT_TRUE(std::isnan(half) || round_to_f16(half, word) == bits) << half << " " << word;
    }
  }
}

TEST(StochasticRounding, GoesToANeighbourOnEitherSide) {
  EXPECT_EQ(count_words(1.0f + 0x1p-10f, round_to_bf16, from_bf16).codes, (std::set<uint16_t>{0x3f80, 0x3f81}));
  EXPECT_EQ(count_words(-1.0f - 0x1p-10f, round_to_bf16, from_bf16).codes, (std::set<uint16_t>{0xbf80, 0xbf81}));
  EXPECT_EQ(count_words(1.0f + 0x1p-12f, round_to_f16, from_f16).codes, (std::set<uint16_t>{0x3c00, 0x3c01}));
  EXPECT_EQ(count_words(-1.0f - 0x1p-12f, round_to_f16, from_f16).codes, (std::set<uint16_t>{0xbc00, 0xbc01}));
}

TEST(StochasticRounding, OverflowsForTheShareOfTheWayBeyondTheLargest) {
  int infinite = 0;
  for (int word = 0; word < 65536; ++word) {
    infinite += round_to_f16(65504.0f + 8.0f, static_cast<uint16_t>(word)) == 0x7c00 ? 1 : 0;
  }
  EXPECT_EQ(infinite, 65536 / 4);  // 8 of the 32 to 65536
  for (const uint16_t word : {0, 0xffff}) {
    EXPECT_EQ(round_to_f16(65536.0f, word), 0x7c00);
    EXPECT_EQ(round_to_f16(-3e38f, word), 0xfc00);
    EXPECT_EQ(round_to_f16(kInfinity, word), 0x7c00);
    EXPECT_EQ(round_to_f16(-kInfinity, word), 0xfc00);
    EXPECT_EQ(round_to_bf16(kInfinity, word), 0x7f80);
    EXPECT_EQ(round_to_bf16(-kInfinity, word), 0xff80);
  }
  EXPECT_EQ(count_words(0x1.fffffep127f, round_to_bf16, [](uint16_t) { return 0.0; }).codes,
            (std::set<uint16_t>{0x7f7f, 0x7f80}));
}

TEST(StochasticRounding, KeepsNanNan) {
  for (const uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffffffffu, 0xff800001u, 0x7fffffffu}) {
    for (const uint16_t word : {0, 1, 0xffff}) {
      const float value = std::bit_cast<float>(bits);
      EXPECT_TRUE(std::isnan(from_bf16(round_to_bf16(value, word)))) << bits;
      EXPECT_TRUE(std::isnan(from_f16(round_to_f16(value, word)))) << bits;
      EXPECT_EQ(round_to_bf16(value, word) >> 15, static_cast<int>(bits >> 31));
      EXPECT_EQ(round_to_f16(value, word) >> 15, static_cast<int>(bits >> 31));
    }
  }
}

TEST(StochasticRounding, DrawsForWeightsWhatNoMomentDraws) {
  const PhiloxKey weight = rounding_key(1, 2, 3, Rounded::kWeight), moment = rounding_key(1, 2, 3, Rounded::kMoment);
  EXPECT_NE(weight.sequence, moment.sequence);
  EXPECT_NE(weight.sequence, rounding_key(1, 2, 4, Rounded::kWeight).sequence);
  EXPECT_NE(weight.sequence, rounding_key(1, 3, 3, Rounded::kWeight).sequence);
  EXPECT_NE(philox(weight, 0), philox(moment, 0));
}

// ---- In the update kernels

constexpr SgdGroup kSgd = {.lr = 1e-3, .momentum = 0, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0};

ParameterSpec narrow(int64_t size, DType dtype, DType moment1 = DType::kF32, DType moment2 = DType::kF32) {
  ParameterSpec spec{size, DType::kF32, dtype, true, 0, moment1, false, moment2};
  spec.has_master = false;
  return spec;
}

std::vector<ParameterSpec> narrow_parameters() {
  return {narrow(1, DType::kBF16),   narrow(257, DType::kF16),
          narrow(0, DType::kBF16),   narrow(512, DType::kBF16, DType::kI8, DType::kU8),
          narrow(255, DType::kBF16), narrow(kChunkSize + 3, DType::kF16, DType::kBF16)};
}

constexpr AdamwGroup kAdamw = {1e-3, 0.9, 0.99, 1e-8, 0.01};

std::vector<std::byte> bytes_after_steps(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ParameterList list(narrow_parameters());
  OptimizerState state;
  for (uint32_t t = 1; t <= 3; ++t) {
    list.draw_gradients(t, -1, 1);
    EXPECT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    EXPECT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), &kAdamw, &state).ok());
  }
  EXPECT_TRUE(list.guards_hold());
  return list.bytes();
}

TEST(StochasticRounding, GivesTheSameWeightsOnAnyNumberOfThreadsAndInstructionSet) {
  const auto one = bytes_after_steps(1);
  for_each_instruction_set([&] {
    EXPECT_EQ(bytes_after_steps(1), one);
    EXPECT_EQ(bytes_after_steps(7), one);
  });
}

float weight_of(const ParameterSpec& spec, uint16_t bits) {
  return spec.compute_dtype == DType::kBF16 ? from_bf16(bits) : static_cast<float>(from_f16(bits));
}

// The update written independently, element by element: Philox words by the element's index.
TEST(StochasticRounding, AStepIsTheFormulaThenTheRounding) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list({narrow(700, DType::kBF16), narrow(300, DType::kF16)}, false);
  list.draw_gradients(1, -1, 1);
  std::vector<std::vector<uint16_t>> before;
  for (const auto& p : list.parameters()) {
    const auto* weights = static_cast<const uint16_t*>(p->compute.data());
    before.emplace_back(weights, weights + p->spec.size);
  }
  OptimizerState state;
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
  ASSERT_TRUE(cpu::kOptimKernels.sgd(stream, list.tensors(), &kSgd, &state).ok());
  for (size_t k = 0; k < before.size(); ++k) {
    const Streams& p = *list.parameters()[k];
    const PhiloxKey key = rounding_key(ParameterList::kSeed, static_cast<int32_t>(k), 1, Rounded::kWeight);
    for (int64_t i = 0; i < p.spec.size; ++i) {
      const uint32_t drawn = philox(key, static_cast<uint64_t>(i / 8))[static_cast<size_t>(i % 8 / 2)];
      const auto word = static_cast<uint16_t>(i % 2 == 0 ? drawn : drawn >> 16);
      const float exact = weight_of(p.spec, before[k][static_cast<size_t>(i)]) -
                          static_cast<float>(kSgd.lr) * static_cast<float>(p.grad.get(i));
      const uint16_t expected =
          p.spec.compute_dtype == DType::kBF16 ? round_to_bf16(exact, word) : round_to_f16(exact, word);
      ASSERT_EQ(static_cast<const uint16_t*>(p.compute.data())[i], expected) << k << " " << i;
    }
  }
}

// A BF16 first moment is rounded to nearest up to a beta1 of 0.9 and stochastically above. The word is that of the
// element half a block away.
TEST(StochasticRounding, RoundsBf16MomentsThatDecaySlowly) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  for_each_instruction_set([&] {
    for (const double beta1 : {0.9, 0.95}) {
      const AdamwGroup group = {1e-3, beta1, 0.99, 1e-8, 0};
      ParameterList list({{700, DType::kF32, DType::kF32, false, 0, DType::kBF16}});
      list.draw_gradients(1, -1, 1);
      OptimizerState state;
      ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
      ASSERT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), &group, &state).ok());
      const Streams& p = *list.parameters()[0];
      const PhiloxKey key = rounding_key(ParameterList::kSeed, 0, 1, Rounded::kMoment);
      for (int64_t i = 0; i < p.spec.size; ++i) {
        float master = 0, m = 0, v = 0;
        adamw_update(adamw_factors(group, state, state.step), static_cast<float>(p.grad.get(i)), master, m, v);
        const int64_t across = i % 256 < 128 ? i + 128 : i - 128;
        const uint32_t drawn = philox(key, static_cast<uint64_t>(across / 8))[static_cast<size_t>(across % 8 / 2)];
        const auto word = static_cast<uint16_t>(across % 2 == 0 ? drawn : drawn >> 16);
        const uint16_t expected = beta1 > 0.9 ? round_to_bf16(m, word) : BFloat16::from(m).bits;
        ASSERT_EQ(static_cast<const uint16_t*>(p.moment1.data())[i], expected) << beta1 << " " << i;
      }
    }
  });
}

// One parameter as a whole, and its two halves as the shards of two processes.
TEST(StochasticRounding, IsTheSameForAShardAsForTheWhole) {
  constexpr int64_t kSize = 1024, kCut = 512;
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList whole({narrow(kSize, DType::kBF16)}, false), parts({narrow(kSize, DType::kBF16)}, false);
  whole.draw_gradients(1, -1, 1);
  parts.draw_gradients(1, -1, 1);
  OptimizerState state;
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
  ASSERT_TRUE(cpu::kOptimKernels.sgd(stream, whole.tensors(), &kSgd, &state).ok());
  for (const int64_t begin : {int64_t{0}, kCut}) {
    UpdateSlot slot = parts.tensors().slots[0];
    slot.grad = static_cast<const float*>(slot.grad) + begin;
    slot.compute = static_cast<uint16_t*>(slot.compute) + begin;
    slot.size = kCut;
    slot.first_block = begin / kBlockSize;
    const std::vector<Chunk> chunks = plan_chunks(std::vector<int64_t>{kCut});
    const MultiTensor<UpdateSlot> shard = {&slot, chunks.data(), 1, static_cast<int64_t>(chunks.size())};
    ASSERT_TRUE(cpu::kOptimKernels.sgd(stream, shard, &kSgd, &state).ok());
  }
  EXPECT_EQ(parts.bytes(), whole.bytes());
}

// Weights stay within (0.25, 1), where a step of BF16 is at most u = 2^-8 and a step of FP16 at most 2^-11. Each update
// is rounded once, with an error of at most u and mean 0. Rounding errors do not change later updates, which depend
// only on gradients. By Hoeffding's bound a sum of 1000 such errors exceeds 3 sqrt(1000) u with a probability below 2
// exp(-18); the mean of 2048 elements has a 45th of the deviation. The FP32 error (adamw_test.cpp) is far
// smaller.
void expect_unbiased_steps(DType dtype, double u, DType moment1, DType moment2) {
  constexpr int64_t kSize = 2048;
  const SgdGroup momentum = {
      .lr = 1e-4, .momentum = 0.9, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0};
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list({narrow(kSize, dtype, moment1, moment2)});
  Streams& p = *list.parameters()[0];
  for (int64_t i = 0; i < kSize; ++i) p.compute.set(i, 0.625);
  double weight = 0.625, buffer = 0;
  OptimizerState state;
  for (int t = 0; t < 1000; ++t) {
    const float grad = static_cast<float>(0.2 + std::sin(t));
    for (int64_t i = 0; i < kSize; ++i) p.grad.set(i, grad);
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    ASSERT_TRUE(cpu::kOptimKernels.sgd(stream, list.tensors(), &momentum, &state).ok());
    buffer = t == 0 ? grad : 0.9 * buffer + grad;
    weight -= 1e-4 * buffer;
  }
  const double each = 3 * std::sqrt(1000.0) * u;
  double mean = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_NEAR(p.compute.get(i), weight, each) << i;
    mean += p.compute.get(i) / static_cast<double>(kSize);
  }
  EXPECT_NEAR(mean, weight, each / 45);
  EXPECT_GT(0.625 - weight, 10 * each / 45);  // the weight has moved
}

TEST(StochasticRounding, FollowsFp64ForAThousandStepsInBf16) {
  expect_unbiased_steps(DType::kBF16, 0x1p-8, DType::kF32, DType::kF32);
}

TEST(StochasticRounding, FollowsFp64ForAThousandStepsInF16) {
  expect_unbiased_steps(DType::kF16, 0x1p-11, DType::kF32, DType::kF32);
}

}  // namespace
}  // namespace halftone
