// First moments in 8-bit codes and BF16 while gradients end or are rare. They must decay as FP32's do: if they stay
// while the second moment, whose root AdamW divides by, decays, the weights run away.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "backend/formula/block_code.h"
#include "cpu/optim/parameters.h"

namespace halftone {
namespace {

enum class Rule { kAdamw, kAdam, kLion, kRmsprop, kRmspropMean, kSgd };

// AdamW's or SGD's settings; SGD has beta1 as its momentum.
struct Case {
  const char* name;
  Rule rule;
  double beta1, beta2;
  DType moment1, moment2;
  int steps;
};

// One optimizer over weights that begin at 0, with a learning rate of 1e-3 and no decay.
class Training {
 public:
  Training(const Case& settings, int64_t size, DType moment1, DType moment2, double lr = 1e-3)
      : settings_(settings), lr_(lr), list_({{size, DType::kF32, DType::kF32, false, 0, moment1, false, moment2}}) {
    for (int64_t i = 0; i < size; ++i) weights()[i] = 0;
  }

  float* weights() { return list_.parameters()[0]->masters(); }
  float* grads() { return static_cast<float*>(list_.parameters()[0]->grad.data()); }

  void step() {
    const AdamwGroup adamw = {lr_, settings_.beta1, settings_.beta2, 1e-8, 0};
    const SgdGroup sgd = {lr_, settings_.beta1, 0, 0, 0, 0};
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream_, {}, {}, &state_).ok());
    ASSERT_TRUE(settings_.rule == Rule::kSgd
                    ? cpu::kOptimKernels.sgd(stream_, list_.tensors(), &sgd, &state_).ok()
                    : cpu::kOptimKernels.adamw(stream_, list_.tensors(), &adamw, &state_).ok());
  }

  double mean_size(int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += std::fabs(weights()[i]);
    return sum / static_cast<double>(end - begin);
  }

 private:
  Case settings_;
  double lr_;
  ParameterList list_;
  ThreadPool pool_{1};
  cpu::CpuStream stream_{pool_};
  OptimizerState state_;
};

constexpr DType kF32 = DType::kF32, kBF16 = DType::kBF16, kI8 = DType::kI8, kU8 = DType::kU8;

constexpr Case kCases[] = {
    {"AdamW, i8, beta2 0.99", Rule::kAdamw, 0.9, 0.99, kI8, kF32, 3000},
    {"AdamW, i8, beta2 0.95", Rule::kAdamw, 0.9, 0.95, kI8, kF32, 1000},
    {"AdamW, i8 and u8, beta2 0.99", Rule::kAdamw, 0.9, 0.99, kI8, kU8, 3000},
    {"AdamW, i8, default betas", Rule::kAdamw, 0.9, 0.999, kI8, kF32, 3000},
    {"SGD, i8, momentum 0.99", Rule::kSgd, 0.99, 0, kI8, kF32, 3000},
    {"AdamW, bf16, beta1 0.999, beta2 0.9999", Rule::kAdamw, 0.999, 0.9999, kBF16, kF32, 10000},
};

// From step 10 on half of the block has no gradients. The gradients of the other half keep the block's scale up.
void run_with_a_quiet_half(Training& run, int steps) {
  std::minstd_rand random(5);
  std::normal_distribution<float> normal;
  for (int t = 1; t <= steps; ++t) {
    for (int64_t i = 0; i < kBlockSize; ++i) run.grads()[i] = i < kBlockSize / 2 || t < 10 ? normal(random) : 0;
    run.step();
  }
}

// N14: 8-bit codes and BF16 against FP32 in one run; to nearest, the means were 2.6 to 760,000 times FP32's.
TEST(MomentDecay, WeightsWhoseGradientsEndStayWhereFp32HasThem) {
  for (const Case& settings : kCases) {
    Training stored(settings, kBlockSize, settings.moment1, settings.moment2), exact(settings, kBlockSize, kF32, kF32);
    run_with_a_quiet_half(stored, settings.steps);
    run_with_a_quiet_half(exact, settings.steps);
    const double size = stored.mean_size(kBlockSize / 2, kBlockSize);
    const double wanted = exact.mean_size(kBlockSize / 2, kBlockSize);
    EXPECT_LT(size, wanted * 1.5) << settings.name;
    EXPECT_GT(size, wanted / 1.5) << settings.name;
  }
}

// N14: gradients that are too small for the codes beside the block's largest. Their weights may move less than with
// FP32 moments, but a code far above the moment that it is stored for must not move them far.
TEST(MomentDecay, GradientsBelowTheCodesDoNotMakeWeightsJump) {
  for (const float share : {3e-4f, 1e-4f, 3e-5f, 1e-6f}) {
    const Case settings = {"", Rule::kAdamw, 0.9, 0.999, kI8, kF32, 1000};
    double largest[2] = {};
    for (const DType moment1 : {kF32, kI8}) {
      Training training(settings, 8 * kBlockSize, moment1, kF32);
      std::minstd_rand random(5);
      std::normal_distribution<float> normal;
      for (int t = 1; t <= settings.steps; ++t) {
        for (int64_t i = 0; i < 8 * kBlockSize; ++i) {
          training.grads()[i] = normal(random) * (i % kBlockSize < kBlockSize / 2 ? 1 : share);
        }
        training.step();
      }
      for (int64_t i = 0; i < 8 * kBlockSize; ++i) {
        double& of_small = largest[moment1 == kI8 ? 1 : 0];
        if (i % kBlockSize >= kBlockSize / 2) of_small = std::max<double>(of_small, std::fabs(training.weights()[i]));
      }
    }
    EXPECT_LT(largest[1], 4 * largest[0]) << share;
  }
}

// One gradient of a block is 1, and the others are far smaller. Constant gradients move a weight by the learning rate
// in each step; with codes, the mean over the small ones is within 2 %, and each weight within a quarter. With codes of
// powers, which have few below a hundredth of the scale, the means were 1.06 (3e-4) to 0.01 (1e-6).
TEST(MomentDecay, N15_SmallGradientsBesideALargeOneMoveWeightsAsWithFp32) {
  for (const float share : {1e-2f, 1e-3f, 3e-4f, 1e-4f, 3e-5f, 1e-5f, 1e-6f}) {
    constexpr int kSteps = 200;
    constexpr int64_t kSize = 4 * kBlockSize;
    Training training({"", Rule::kAdamw, 0.9, 0.999, kI8, kU8, kSteps}, kSize, kI8, kU8, 0.1);
    for (int64_t i = 0; i < kSize; ++i) training.grads()[i] = i % kBlockSize == 0 ? 1.0f : share;
    for (int t = 0; t < kSteps; ++t) training.step();
    double sum = 0, small = 0;
    for (int64_t i = 0; i < kSize; ++i) {
      // Epsilon is 1e-8 beside a root of the second moment of `share`.
      const double ratio = -training.weights()[i] / (0.1 * kSteps) * (1 + 1e-8 / (i % kBlockSize == 0 ? 1 : share));
      ASSERT_NEAR(ratio, 1, 0.25) << share << " " << i;
      if (i % kBlockSize != 0) sum += ratio, ++small;
    }
    EXPECT_NEAR(sum / small, 1, 0.02) << share;
  }
}

// Gradients of one size keep all second moments of a block near its largest. With 8 codes for each factor of 2 there
// the weights were 0.13 of their ways apart from those with FP32 moments.
TEST(MomentDecay, N15_GradientsOfOneSizeMoveWeightsNearlyAsWithFp32) {
  constexpr int64_t kSize = 8 * kBlockSize;
  const Case settings = {"", Rule::kAdamw, 0.9, 0.999, kI8, kU8, 1000};
  Training coded(settings, kSize, kI8, kU8), exact(settings, kSize, kF32, kF32);
  std::minstd_rand random(5);
  std::normal_distribution<float> normal;
  for (int t = 0; t < settings.steps; ++t) {
    for (int64_t i = 0; i < kSize; ++i) coded.grads()[i] = exact.grads()[i] = normal(random);
    coded.step();
    exact.step();
  }
  double apart = 0, ways = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    const double way = exact.weights()[i], gap = coded.weights()[i] - way;
    apart += gap * gap;
    ways += way * way;
  }
  EXPECT_LT(std::sqrt(apart / ways), 0.07);
}

// ---- How true the decay is

// Computes the mean of a moment, in units of code 1, after each of 10,000 steps without a gradient. The probabilities
// are exact counts over all random words, so nothing is sampled. Its bias is its relative difference from the decay as
// FP32 has it, which must be below 1 % from every code and after every step until the moment is below code 1: less than
// a code can hold. Without a gradient the mean over many elements converges to this mean.
void expect_true_decay_of_codes(float decay, float scale) {
  std::array<int, 128> upper_of = {};  // the larger of the two codes that code c may become
  std::array<double, 128> share = {};
  for (int c = 0; c < 128; ++c) {
    const float value = decay * decode_signed(static_cast<int8_t>(c), scale);
    const int upper = encode_signed(value, scale, 0), lower = encode_signed(value, scale, 65535);
    ASSERT_LE(upper - lower, 1);
    int count = 0;
    for (int word = 0; word < 65536; ++word) {
      const int code = encode_signed(value, scale, static_cast<uint16_t>(word));
      ASSERT_TRUE(code == upper || code == lower) << c;
      count += code == upper ? 1 : 0;
    }
    upper_of[static_cast<size_t>(c)] = upper;
    share[static_cast<size_t>(c)] = count / 65536.0;
  }
  std::array<double, 128> mean = {}, next = {};
  const auto units_of = [](size_t c) {
    return static_cast<double>(decode_signed(static_cast<int8_t>(c), 1.0f) / decode_signed(1, 1.0f));
  };
  for (size_t c = 0; c < 128; ++c) mean[c] = units_of(c);
  double exact = 1;
  for (int t = 1; t <= 10000; ++t) {
    exact *= static_cast<double>(decay);
    for (size_t c = 0; c < 128; ++c) {
      const auto upper = static_cast<size_t>(upper_of[c]);
      next[c] = share[c] * mean[upper] + (1 - share[c]) * (upper > 0 ? mean[upper - 1] : 0);
    }
    mean = next;
    for (size_t c = 1; c < 128; ++c) {
      const double wanted = exact * units_of(c);
      if (wanted < 1) continue;
      ASSERT_NEAR(mean[c] / wanted, 1, 0.01) << decay << ", code " << c << ", step " << t;
    }
  }
}

// N14
TEST(MomentDecay, OfCodesIsTrueInTheMeanToOnePercentOverTenThousandSteps) {
  expect_true_decay_of_codes(0.9f, 1.0f);
  expect_true_decay_of_codes(0.99f, 3e-9f);
  expect_true_decay_of_codes(0.999f, 7e20f);
}

// With alpha 0 the mean square is g^2, and with this epsilon a gradient of 1 adds 1 - decay to the buffer.
RmspropGroup with_momentum(double decay) { return {0, 0, decay / (1 - decay), 0, decay, 0, 0}; }

// The sum of a moment over the steps is how far it moves a weight that it is added to in each step. Every element
// starts at another code of a scale of 1; the gradient of each block's first element keeps that scale up, the others
// have none. The learning rate is 0. The sum over all elements, each times its first sign, must be FP32's to 1 %, over
// 10,000 steps or until every moment is below a tenth of code 1. The blocks are so many that 1 % is at least 5
// deviations.
struct Decaying {
  const char* name;
  Rule rule;
  double decay;
  DType dtype;
  int64_t blocks;
};

// The moment whose decay is measured, and its scales.
struct Measured {
  HostTensor& moment;
  HostTensor& scales;
};
Measured measured_of(Streams& p) {
  return p.spec.has_moment3 ? Measured{p.moment3, p.scales3} : Measured{p.moment1, p.scales1};
}

void begin_decay(Streams& p) {
  const Measured measured = measured_of(p);
  for (int64_t i = 0; i < p.spec.size; ++i) {
    const double code = i % kBlockSize == 0 ? 127 : (i % 127 + 1) * (i % 2 == 0 ? 1 : -1);
    measured.moment.set(i, p.spec.moment1_dtype == kI8 ? code : decode_signed(static_cast<int8_t>(code), 1.0f));
  }
  for (int64_t block = 0; block < p.spec.blocks(); ++block) measured.scales.set(block, 1);
}

double sum_of_sizes(Streams& p) {
  const Measured measured = measured_of(p);
  const auto* codes = static_cast<const int8_t*>(measured.moment.data());
  const auto* numbers = static_cast<const uint16_t*>(measured.moment.data());
  double sum = 0;
  for (int64_t i = 0; i < p.spec.size; ++i) {
    if (i % kBlockSize == 0) continue;
    const float scale = static_cast<const float*>(measured.scales.data())[i / kBlockSize];
    const float moment =
        p.spec.moment1_dtype == kI8 ? decode_signed(codes[i], scale) : std::bit_cast<float>(uint32_t{numbers[i]} << 16);
    sum += static_cast<double>(i % 2 == 0 ? moment : -moment);
  }
  return sum;
}

void expect_true_sum(const Decaying& of) {
  ParameterSpec spec{of.blocks * kBlockSize, kF32, kF32, false, 0, of.dtype};
  spec.has_moment3 = of.rule == Rule::kRmspropMean;
  spec.has_moment1 = !spec.has_moment3;
  ParameterList list({spec});
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  Streams& p = *list.parameters()[0];
  const AdamwGroup adamw = {0, of.decay, 0.999, 1e-8, 0};
  const SgdGroup sgd = {0, of.decay, 0, 0, 0, 0};
  const LionGroup lion = {0, 0.9, of.decay, 0};
  const RmspropGroup rmsprop =
      of.rule == Rule::kRmsprop ? with_momentum(of.decay) : RmspropGroup{0, of.decay, 1, 0, 0, 1, 0};
  OptimizerState state;
  state.step = 1;  // the first step of SGD does not read its buffer
  begin_decay(p);
  for (int64_t i = 0; i < p.spec.size; ++i) p.grad.set(i, 0);
  const double kept = of.rule == Rule::kSgd ? 1 - of.decay : 1;
  for (int64_t i = 0; i < p.spec.size; i += kBlockSize) p.grad.set(i, kept);
  double sum = 0, wanted = 0, exact = sum_of_sizes(p);
  const int steps = std::min(10000, static_cast<int>(12 / (1 - of.decay)));
  for (int t = 0; t < steps; ++t) {
    const OptimKernels& kernels = cpu::kOptimKernels;
    ASSERT_TRUE(kernels.begin_step(stream, {}, {}, &state).ok());
    const Status done = of.rule == Rule::kAdamw  ? kernels.adamw(stream, list.tensors(), &adamw, &state)
                        : of.rule == Rule::kAdam ? kernels.adam(stream, list.tensors(), &adamw, &state)
                        : of.rule == Rule::kLion ? kernels.lion(stream, list.tensors(), &lion, &state)
                        : of.rule == Rule::kSgd  ? kernels.sgd(stream, list.tensors(), &sgd, &state)
                                                 : kernels.rmsprop(stream, list.tensors(), &rmsprop, &state);
    ASSERT_TRUE(done.ok());
    sum += sum_of_sizes(p);
    wanted += exact *= static_cast<double>(static_cast<float>(of.decay));
  }
  EXPECT_NEAR(sum / wanted, 1, 0.01) << of.name;
}

// N14: the update kernels with their random words.
TEST(MomentDecay, MovesWeightsAsFarAsFp32ToOnePercentOverTenThousandSteps) {
  for (const Decaying& of : {Decaying{"AdamW, i8", Rule::kAdamw, 0.9, kI8, 64},
                             {"Adam, i8", Rule::kAdam, 0.95, kI8, 64},
                             {"Lion, i8", Rule::kLion, 0.99, kI8, 64},
                             {"RMSprop, i8", Rule::kRmsprop, 0.99, kI8, 64},
                             {"RMSprop's mean, i8", Rule::kRmspropMean, 0.99, kI8, 64},
                             {"SGD, i8", Rule::kSgd, 0.999, kI8, 32},
                             {"AdamW, bf16", Rule::kAdamw, 0.999, kBF16, 8},
                             {"Lion, bf16", Rule::kLion, 0.99, kBF16, 16},
                             {"RMSprop, bf16", Rule::kRmsprop, 0.999, kBF16, 8},
                             {"RMSprop's mean, bf16", Rule::kRmspropMean, 0.99, kBF16, 16},
                             {"SGD, bf16", Rule::kSgd, 0.9999, kBF16, 8}}) {
    expect_true_sum(of);
  }
}

// A net with one hidden layer of ReLU. Most of its features are 0, and so are most gradients of its first layer.
class RareFeatures {
 public:
  static constexpr int kFeatures = 64, kHidden = 32, kBatch = 4;
  static constexpr int64_t kWeights = kHidden * kFeatures + kHidden;

  void begin(float* weights) {
    for (int64_t i = 0; i < kWeights; ++i) weights[i] = 0.3f * normal_(random_);
  }

  // The gradients of the mean squared error of a batch whose target is the sum of its features' signs.
  void backward(const float* weights, float* grads) {
    std::fill(grads, grads + kWeights, 0.0f);
    for (int n = 0; n < kBatch; ++n) add_example(weights, grads);
  }

 private:
  void add_example(const float* weights, float* grads) {
    float x[kFeatures] = {}, hidden[kHidden] = {}, output = 0, target = 0;
    for (int k = 0; k < kFeatures; ++k) {
      // Even features are there half of the time, odd ones once in 500.
      const bool is_there = random_() % (k % 2 == 0 ? 2 : 500) == 0;
      x[k] = is_there ? normal_(random_) : 0;
      target += k % 4 < 2 ? x[k] : -x[k];
    }
    const float* last = weights + kHidden * kFeatures;
    for (int h = 0; h < kHidden; ++h) {
      float sum = 0;
      for (int k = 0; k < kFeatures; ++k) sum += weights[h * kFeatures + k] * x[k];
      hidden[h] = std::max(sum, 0.0f);
      output += last[h] * hidden[h];
    }
    const float grad = 2 * (output - target) / kBatch;
    for (int h = 0; h < kHidden; ++h) {
      grads[kHidden * kFeatures + h] += grad * hidden[h];
      if (hidden[h] == 0) continue;
      for (int k = 0; k < kFeatures; ++k) grads[h * kFeatures + k] += grad * last[h] * x[k];
    }
  }

  std::minstd_rand random_{7};
  std::normal_distribution<float> normal_;
};

double largest_after_training(DType moment1) {
  Training run({"", Rule::kAdamw, 0.9, 0.95, kI8, kF32, 0}, RareFeatures::kWeights, moment1, kF32);
  RareFeatures net;
  net.begin(run.weights());
  for (int t = 0; t < 1500; ++t) {
    net.backward(run.weights(), run.grads());
    run.step();
  }
  return std::fabs(*std::max_element(run.weights(), run.weights() + RareFeatures::kWeights,
                                     [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
}

// N14: to nearest, the largest weight was 290 times FP32's.
TEST(MomentDecay, ANetOfRareFeaturesKeepsItsWeightsAsSmallAsFp32) {
  const double wanted = largest_after_training(kF32);
  const double got = largest_after_training(kI8);
  EXPECT_LT(got, wanted * 1.5);
}

}  // namespace
}  // namespace halftone
