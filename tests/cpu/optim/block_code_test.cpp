// Moments in 8-bit codes with one scale per block: the codes themselves, and AdamW with them.
#include "backend/formula/block_code.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "backend/formula/adamw.h"
#include "backend/formula/rounding_key.h"
#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr AdamwGroup kGroup = {1e-3, 0.9, 0.99, 1e-8, 0.01};
constexpr double kScales[] = {1.0, 3e-9, 7e20, 1e-23};

// From a part of the scale up, a code is at most so far above the one below.
struct CodeClass {
  float begin;
  float largest_ratio;
};

template <class Decode>
void expect_relative_steps(int last, const CodeClass (&classes)[3], Decode decode) {
  EXPECT_LE(decode(1), classes[2].begin);
  EXPECT_EQ(decode(last), 1.0f);
  for (int code = 2; code <= last; ++code) {
    const float lower = decode(code - 1), ratio = decode(code) / lower;
    const CodeClass& own = lower >= classes[0].begin ? classes[0] : lower >= classes[1].begin ? classes[1] : classes[2];
    EXPECT_LE(ratio, own.largest_ratio) << code;
    EXPECT_GT(ratio - 1, (own.largest_ratio - 1) / 2) << code;
  }
}

TEST(BlockCode, CodesKeepTheirRelativeStepsOverSixDecades) {
  expect_relative_steps(127, {{0.25f, 1 + 1.0f / 16}, {0x1p-7f, 1.125f}, {1e-6f, 1.25f}},
                        [](int code) { return decode_signed(static_cast<int8_t>(code), 1.0f); });
  expect_relative_steps(255, {{0.25f, 1 + 1.0f / 32}, {0x1p-21f, 1.125f}, {1e-12f, 1.5f}},
                        [](int code) { return decode_unsigned(static_cast<uint8_t>(code), 1.0f); });
}

// FP32 rounds the value that a code is read as, so two words of 65,536 at either end may give its neighbour.
TEST(BlockCode, ASignedCodeStaysItselfForAllWordsButTheOutermost) {
  for (const double scale_value : kScales) {
    const float scale = static_cast<float>(scale_value);
    for (int code = -127; code <= 127; ++code) {
      const float value = decode_signed(static_cast<int8_t>(code), scale);
      for (const uint16_t word : {2, 32768, 65533}) ASSERT_EQ(encode_signed(value, scale, word), code) << scale;
      for (const uint16_t word : {0, 65535}) ASSERT_NEAR(encode_signed(value, scale, word), code, 1) << scale;
    }
  }
}

// Computes the exact mean over all random words. It must equal the value, up to the resolution of a 16-bit word.
TEST(BlockCode, StochasticRoundingIsUnbiasedOverAllWords) {
  for (const double scale_value : kScales) {
    const float scale = static_cast<float>(scale_value);
    for (int i = 1; i <= 97; ++i) {
      const float value = static_cast<float>(scale_value * i * i * i / (97.0 * 97 * 97));
      double sum = 0;
      std::set<int> codes;
      for (int word = 0; word < 65536; ++word) {
        const uint8_t code = encode_unsigned(value, scale, static_cast<uint16_t>(word));
        codes.insert(code);
        sum += decode_unsigned(code, scale);
      }
      ASSERT_LE(codes.size(), 2u);
      ASSERT_LE(*codes.rbegin() - *codes.begin(), 1);
      const double step = decode_unsigned(static_cast<uint8_t>(*codes.rbegin()), scale) -
                          decode_unsigned(static_cast<uint8_t>(*codes.rbegin() - 1), scale);
      ASSERT_NEAR(sum / 65536, value, step * 0x1p-17 + value * 0x1p-20 + 0x1p-149) << scale << " " << i;
    }
  }
}

TEST(BlockCode, SignedStochasticRoundingIsUnbiasedOverAllWords) {
  for (const double scale_value : kScales) {
    const float scale = static_cast<float>(scale_value);
    for (int i = -97; i <= 97; i += 6) {
      const float value = static_cast<float>(scale_value * i * std::abs(i) / (97.0 * 97));
      const int outer = encode_signed(value, scale, 0), inner = encode_signed(value, scale, 65535);
      ASSERT_LE(std::abs(outer) - std::abs(inner), 1);
      double sum = 0;
      for (int word = 0; word < 65536; ++word) {
        const int code = encode_signed(value, scale, static_cast<uint16_t>(word));
        ASSERT_TRUE(code == outer || code == inner);
        sum += decode_signed(static_cast<int8_t>(code), scale);
      }
      const int magnitude = std::abs(outer);
      const double step = decode_signed(static_cast<int8_t>(magnitude), scale) -
                          (magnitude > 0 ? decode_signed(static_cast<int8_t>(magnitude - 1), scale) : 0.0f);
      ASSERT_NEAR(sum / 65536, value, step * 0x1p-17 + std::fabs(value) * 0x1p-20) << scale << " " << i;
    }
  }
}

// Rounded up, a value below a quarter of code 1 would be more than four times itself.
TEST(BlockCode, BelowAQuarterOfTheFirstCodeAFirstMomentIsZero) {
  const float first = decode_signed(1, 1.0f);
  for (const float sign : {1.0f, -1.0f}) {
    for (const float share : {0.0f, 0x1p-100f, 0.1f, 0.2499f}) {
      for (int word = 0; word < 65536; ++word) {
        ASSERT_EQ(encode_signed(sign * share * first, 1.0f, static_cast<uint16_t>(word)), 0) << share;
      }
    }
    EXPECT_EQ(encode_signed(sign * 0.2501f * first, 1.0f, 0), sign);
    EXPECT_EQ(encode_signed(sign * 0.2501f * first, 1.0f, 65535), 0);
  }
}

TEST(BlockCode, ASecondMomentIsZeroOnlyWhereItWasZero) {
  for (int word = 0; word < 65536; word += 257) {
    EXPECT_EQ(encode_unsigned(0.0f, 1.0f, static_cast<uint16_t>(word)), 0);
    EXPECT_EQ(encode_unsigned(1e-16f, 1.0f, static_cast<uint16_t>(word)), 1);
    EXPECT_EQ(encode_unsigned(1.0f, 1.0f, static_cast<uint16_t>(word)), 255);
  }
}

// Blocks with smaller values share a minimum scale whose factors are normal numbers.
TEST(BlockCode, AScaleIsTheLargestMagnitudeButNotBelowTheLeastScale) {
  const auto scale_for = [](float largest) { return block_scale(std::bit_cast<uint32_t>(largest)); };
  EXPECT_EQ(scale_for(0.0f), 0.0f);
  EXPECT_EQ(scale_for(0x1p-149f), kLeastScale);
  EXPECT_EQ(scale_for(0x1.8p-95f), kLeastScale);
  EXPECT_EQ(scale_for(0x1.2p-78f), 0x1.2p-78f);
  EXPECT_EQ(scale_for(3e38f), 3e38f);
  EXPECT_TRUE(std::isnan(scale_for(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isnan(scale_for(std::numeric_limits<float>::quiet_NaN())));
  for (const float value : {0x1p-149f, 0x1p-126f, 0x1.8p-95f}) {
    for (const uint16_t word : {0, 65535}) {
      const float first = decode_signed(encode_signed(-value, kLeastScale, word), kLeastScale);
      EXPECT_NEAR(first, -value, std::max(kLeastScale * 0x1.8p-21f, value / 4)) << value;
      const float read = decode_unsigned(encode_unsigned(value, kLeastScale, word), kLeastScale);
      EXPECT_GT(read, 0.0f) << value;
      EXPECT_NEAR(read, value, std::max(kLeastScale * 0x1p-40f, value / 2)) << value;
    }
  }
  EXPECT_EQ(encode_unsigned(3e38f, 3e38f, 0), 255);
  for (const uint16_t word : {0, 65535}) EXPECT_EQ(encode_signed(-3e38f, 3e38f, word), -127);
}

ParameterSpec coded(int64_t size) { return {size, DType::kBF16, DType::kBF16, true, 0, DType::kI8, true, DType::kU8}; }

void step(Stream& stream, ParameterList& list, OptimizerState& state, const AdamwGroup& group = kGroup) {
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
  ASSERT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), &group, &state).ok());
}

std::vector<ParameterSpec> coded_parameters() {
  return {coded(1), coded(257), coded(0), coded(512), coded(255), coded(kChunkSize + 3)};
}

std::vector<std::byte> bytes_after_steps(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ParameterList list(coded_parameters());
  OptimizerState state;
  for (uint32_t t = 1; t <= 3; ++t) {
    list.draw_gradients(t, -1, 1);
    step(stream, list, state);
  }
  EXPECT_TRUE(list.guards_hold());
  return list.bytes();
}

TEST(BlockCode, GivesTheSameBitsOnAnyNumberOfThreadsAndInstructionSet) {
  const auto one = bytes_after_steps(1);
  for_each_instruction_set([&] {
    EXPECT_EQ(bytes_after_steps(1), one);
    EXPECT_EQ(bytes_after_steps(7), one);
  });
}

// The word of element i by (seed, step, parameter, element), from Philox itself.
uint16_t word_of(PhiloxKey key, int64_t i) {
  const uint32_t pair = philox(key, static_cast<uint64_t>(i / 8))[static_cast<size_t>(i / 2 % 4)];
  return static_cast<uint16_t>(i % 2 == 0 ? pair : pair >> 16);
}

// The update written independently, element by element. The first moment uses the word of the element that is half a
// block away.
void expect_formula_then_codes(ParameterList& list, const AdamwFactors& factors) {
  for (int32_t k = 0; k < static_cast<int32_t>(list.parameters().size()); ++k) {
    Streams& p = *list.parameters()[static_cast<size_t>(k)];
    const PhiloxKey key = rounding_key(ParameterList::kSeed, k, 1, Rounded::kMoment);
    for (int64_t begin = 0; begin < p.spec.size; begin += kBlockSize) {
      const float scale1 = static_cast<float>(p.scales1.get(begin / kBlockSize));
      const float scale2 = static_cast<float>(p.scales2.get(begin / kBlockSize));
      float largest1 = 0, largest2 = 0;
      for (int64_t i = begin; i < std::min(begin + kBlockSize, p.spec.size); ++i) {
        float master = p.masters()[i], m = 0, v = 0;
        adamw_update(factors, static_cast<float>(p.grad.get(i)), master, m, v);
        const int64_t across = i - begin < 128 ? i + 128 : i - 128;
        ASSERT_EQ(p.moment1.get(i), encode_signed(m, scale1, word_of(key, across))) << k << " " << i;
        ASSERT_EQ(p.moment2.get(i), encode_unsigned(v, scale2, word_of(key, i))) << k << " " << i;
        largest1 = std::max(largest1, std::fabs(m));
        largest2 = std::max(largest2, v);
      }
      EXPECT_EQ(scale1, largest1);
      EXPECT_EQ(scale2, largest2);
    }
  }
}

TEST(BlockCode, TheFirstStepIsTheFormulaThenTheCodes) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  for_each_instruction_set([&] {
    ParameterList list(coded_parameters());
    OptimizerState state;
    list.draw_gradients(1, -1, 1);
    step(stream, list, state);
    expect_formula_then_codes(list, adamw_factors(kGroup, state, state.step));
  });
}

// With beta2 = 0 the second moment is the square of the gradient. In the block of code c, the squares are up to 255
// floats away from code c on either side, and the largest one is 1.
TEST(BlockCode, CodesNextToTheirOwnNumberAreTheFormulas) {
  constexpr AdamwGroup kSquares = {1e-3, 0.9, 0.0, 1e-8, 0.01};
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  for_each_instruction_set([&] {
    ParameterList list({{256 * kBlockSize, DType::kF32, DType::kBF16, true, 0, DType::kI8, false, DType::kU8}});
    float* grad = static_cast<float*>(list.parameters()[0]->grad.data());
    for (int code = 0; code < 256; ++code) {
      float* block = grad + code * kBlockSize;
      const float root = std::sqrt(decode_unsigned(static_cast<uint8_t>(code), 1.0f));
      for (int i = 1; i < kBlockSize; ++i) block[i] = root * (1.0f + static_cast<float>(i - 128) * 0x1p-24f);
      block[0] = 1.0f;
    }
    for (int64_t i = 0; i < 255; ++i) grad[i] = std::ldexp(1.0f, static_cast<int>(-i / 2));
    OptimizerState state;
    step(stream, list, state, kSquares);
    expect_formula_then_codes(list, adamw_factors(kSquares, state, state.step));
  });
}

TEST(BlockCode, ABlockWithAnElementThatIsNotFiniteReadsNan) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    ThreadPool pool(1);
    cpu::CpuStream stream(pool);
    ParameterList list({coded(600)});
    Streams& p = *list.parameters()[0];
    list.draw_gradients(1, -1, 1);
    p.grad.set(300, bad);
    OptimizerState state;
    step(stream, list, state);
    for (const int block : {0, 1, 2}) {
      EXPECT_EQ(std::isnan(p.scales1.get(block)), block == 1);
      EXPECT_EQ(std::isnan(p.scales2.get(block)), block == 1);
    }
    p.join();
    EXPECT_TRUE(std::isfinite(p.masters()[299]));
  }
}

struct Reference {
  double p, m = 0, v = 0;
  void update(double grad, int64_t t) {
    p *= 1 - kGroup.lr * kGroup.weight_decay;
    m = kGroup.beta1 * m + (1 - kGroup.beta1) * grad;
    v = kGroup.beta2 * v + (1 - kGroup.beta2) * grad * grad;
    const double m_hat = m / (1 - std::pow(kGroup.beta1, static_cast<double>(t)));
    const double v_hat = v / (1 - std::pow(kGroup.beta2, static_cast<double>(t)));
    p -= kGroup.lr * m_hat / (std::sqrt(v_hat) + kGroup.epsilon);
  }
};

// All elements get one gradient per step, so they differ only by their rounding. They are near the top of the codes,
// where the step between codes is a 32nd of the scale, and a 64th for second moments. Each rounding has mean 0 and a
// range of one step. By Hoeffding's bound a sum of such errors exceeds 3 times the root of the sum of their squared
// ranges with a probability below 2 exp(-18); the mean of 4096 elements has a 64th of the deviation.
TEST(BlockCode, FollowsTheFormulasInDoubleForAThousandSteps) {
  constexpr int64_t kSize = 4096;
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list({{kSize, DType::kF32, DType::kBF16, true, 0, DType::kI8, false, DType::kU8}});
  Streams& p = *list.parameters()[0];
  for (int64_t i = 0; i < kSize; ++i) p.master.set(i, 0.5);
  Reference reference{.p = 0.5};
  OptimizerState state;
  double largest_v = 0, ranges_m = 0, largest_gap_m = 0;
  for (int64_t t = 1; t <= 1000; ++t) {
    const float grad = static_cast<float>(0.3 + std::sin(static_cast<double>(t)));
    for (int64_t i = 0; i < kSize; ++i) p.grad.set(i, grad);
    step(stream, list, state);
    reference.update(grad, t);
    largest_v = std::max(largest_v, reference.v);
    // The block's scale is the largest of its elements, which have gone astray as well.
    const double range = 1.0 / 32 * (std::fabs(reference.m) + 3 * std::sqrt(ranges_m));
    ranges_m = kGroup.beta1 * kGroup.beta1 * ranges_m + range * range;
    largest_gap_m = std::max(largest_gap_m, 3 * std::sqrt(ranges_m));
  }
  const double gap_m = 3 * std::sqrt(ranges_m);
  double mean_m = 0, mean_v = 0, mean_p = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    const int64_t block = i / kBlockSize;
    const float m = decode_signed(static_cast<int8_t>(p.moment1.get(i)), static_cast<float>(p.scales1.get(block)));
    const float v = decode_unsigned(static_cast<uint8_t>(p.moment2.get(i)), static_cast<float>(p.scales2.get(block)));
    ASSERT_NEAR(m, reference.m, gap_m) << i;
    mean_m += m / static_cast<double>(kSize);
    mean_v += v / static_cast<double>(kSize);
    mean_p += p.master.get(i) / static_cast<double>(kSize);
  }
  EXPECT_NEAR(mean_m, reference.m, gap_m / 64);
  const double deviation = 0.5 / 64 * largest_v / std::sqrt(1 - kGroup.beta2 * kGroup.beta2);
  EXPECT_NEAR(mean_v, reference.v, 6 * deviation / 64);
  // The error of a step is gap_m / sqrt(v) from the first moment and, on average, three eighths of the second moment's
  // relative variance.
  const double root = std::sqrt(0.5);
  const double relative = deviation / 0.5;
  EXPECT_NEAR(mean_p, reference.p, 1000 * kGroup.lr * (largest_gap_m / 64 / root + 0.375 * relative * relative));
}

}  // namespace
}  // namespace halftone
