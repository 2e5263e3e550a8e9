// Products of 8-bit floats on the CUDA device: which way each takes, and that all ways give the same.
#include "ops/scaled/fp8.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "cuda/gemm/fp8_plan.h"
#include "cuda_device.h"
#include "ops/shape/shape.h"
#include "room_fixture.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

using cuda::fp8_plan;
using cuda::Fp8Plan;
using cuda::Fp8Way;

constexpr std::uintptr_t kAddress = 1 << 20;
constexpr int kHopper = 90;

View matrix(DType dtype, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride = 1) {
  return {.data = reinterpret_cast<void*>(kAddress),
          .dtype = dtype,
          .shape = {rows, columns},
          .strides = {row_stride, column_stride}};
}

// [32, 48] x [48, 64] in the order of a linear layer: neighbours along the depth are neighbours in memory.
GemmArgs layer(DType c) {
  return {
      .a = matrix(DType::kF8E4M3, 32, 48, 48), .b = matrix(DType::kF8E4M3, 48, 64, 1, 48), .c = matrix(c, 32, 64, 64)};
}

View bias(DType dtype) {
  return {.data = reinterpret_cast<void*>(kAddress), .dtype = dtype, .shape = {64}, .strides = {1}};
}

Fp8Plan bytes_plan(const GemmArgs& args, int capability = kHopper) {
  return fp8_plan(args, Fp8Way::kBytes, capability);
}

TEST(Fp8Plan, ALinearLayerIsMultipliedWhereItLies) {
  const Fp8Plan plan = bytes_plan(layer(DType::kBF16));
  ASSERT_TRUE(plan.is_possible);
  EXPECT_FALSE(plan.packs_a || plan.packs_b || plan.writes_sums);
  EXPECT_EQ(plan.problem.is_swapped, 1);
  EXPECT_EQ(plan.problem.a.is_transposed, 1);
  EXPECT_EQ(plan.problem.b.is_transposed, 0);
  EXPECT_EQ(plan.problem.type, CUDA_R_8F_E4M3);
  EXPECT_EQ(plan.problem.result_type, CUDA_R_16BF);
}

TEST(Fp8Plan, OtherOrdersAreCopiedWhereTheGpuNeedsIt) {
  GemmArgs args = layer(DType::kBF16);
  args.a = matrix(DType::kF8E4M3, 32, 48, 1, 32);
  args.b = matrix(DType::kF8E4M3, 48, 64, 64);
  const Fp8Plan plan = bytes_plan(args);
  ASSERT_TRUE(plan.is_possible);
  EXPECT_TRUE(plan.packs_a && plan.packs_b);
  EXPECT_EQ(plan.problem.a, (cuda::LtMatrix{48, 64, 48, 1, 256}));
  EXPECT_EQ(plan.problem.b, (cuda::LtMatrix{48, 32, 48, 0, 256}));
  EXPECT_FALSE(bytes_plan(args, 100).packs_a || bytes_plan(args, 100).packs_b);
  EXPECT_TRUE(bytes_plan(args, 120).packs_a && bytes_plan(args, 120).packs_b);
}

TEST(Fp8Plan, AnUnalignedOperandIsCopied) {
  GemmArgs args = layer(DType::kBF16);
  args.a.data = reinterpret_cast<void*>(kAddress + 8);
  EXPECT_TRUE(bytes_plan(args).packs_a);
  args = layer(DType::kBF16);
  args.a.strides[0] = 56;
  EXPECT_TRUE(bytes_plan(args).packs_a);
}

TEST(Fp8Plan, RefusesOldGpusOddSizesAndTwoF8e5m2) {
  EXPECT_FALSE(bytes_plan(layer(DType::kBF16), 80).is_possible);
  EXPECT_TRUE(bytes_plan(layer(DType::kBF16), 89).is_possible);
  GemmArgs args = layer(DType::kBF16);
  args.a.dtype = DType::kF8E5M2;
  EXPECT_TRUE(bytes_plan(args).is_possible);
  args.b.dtype = DType::kF8E5M2;
  EXPECT_FALSE(bytes_plan(args).is_possible);
  EXPECT_TRUE(fp8_plan(args, Fp8Way::kWidened, kHopper).is_possible);
  args = layer(DType::kBF16);
  args.a.shape[1] = args.b.shape[0] = 40;
  EXPECT_FALSE(bytes_plan(args).is_possible);
  args = layer(DType::kBF16);
  args.b.shape[1] = args.c.shape[1] = 63;
  EXPECT_FALSE(bytes_plan(args).is_possible);
  args = layer(DType::kBF16);
  args.a.shape[0] = args.c.shape[0] = 31;
  EXPECT_TRUE(bytes_plan(args).is_possible);
}

TEST(Fp8Plan, SumsAreFinishedByAKernelWhereCublasLtHasNoEnd) {
  const auto is_direct = [](const GemmArgs& args) { return !bytes_plan(args).writes_sums; };
  float number = 0;
  for (const DType c : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3}) EXPECT_TRUE(is_direct(layer(c)));
  EXPECT_FALSE(is_direct(layer(DType::kF8E5M2))) << "two f8e4m3 give no f8e5m2";
  GemmArgs args = layer(DType::kBF16);
  args.scales.amax = &number;
  EXPECT_FALSE(is_direct(args));
  args.c.dtype = DType::kF8E4M3;
  args.scales.c = &number;
  EXPECT_TRUE(is_direct(args));
  EXPECT_EQ(bytes_plan(args).problem.has_amax, 1);
  EXPECT_EQ(bytes_plan(args).problem.has_result_scale, 1);
  args.bias = bias(DType::kF16);
  EXPECT_TRUE(is_direct(args));
  EXPECT_EQ(bytes_plan(args).problem.added_type, CUDA_R_16F);
  args.bias = bias(DType::kF32);
  EXPECT_FALSE(is_direct(args));
  args = layer(DType::kF32);
  args.bias = bias(DType::kBF16);
  EXPECT_TRUE(is_direct(args));
  EXPECT_EQ(bytes_plan(args).problem.bias_type, CUDA_R_16BF);
}

TEST(Fp8Plan, AdvisesOnSizesThatAreNoMultiplesOf16) {
  const auto is_unfit = [](int64_t m, int64_t n, int64_t k, int capability) {
    const GemmArgs args = {.a = matrix(DType::kF8E4M3, m, k, k),
                           .b = matrix(DType::kF8E4M3, k, n, 1, k),
                           .c = matrix(DType::kBF16, m, n, n)};
    return cuda::has_unfit_sizes(args, capability);
  };
  EXPECT_TRUE(is_unfit(1024, 50257, 768, 90));
  EXPECT_TRUE(is_unfit(1024, 512, 760, 90));
  EXPECT_FALSE(is_unfit(1024, 512, 768, 90));
  EXPECT_FALSE(is_unfit(1024, 50257, 768, 80)) << "no size helps";
  EXPECT_FALSE(is_unfit(1024, 10, 768, 90));
}

class Fp8OnCuda : public RoomTest {
 protected:
  void TearDown() override {
    if (is_emulated()) set_capability(9);
  }
  static void set_capability(int32_t major) {
    emulation_function<void(int32_t, int32_t, int32_t)>("cuda_emulation_answer")(0, 13000, major);
  }
  static int64_t queued() { return emulation_function<int64_t()>("cuda_emulation_queued")(); }

  // Numbers of f8e4m3, equal on every device.
  static Tensor noise(ContextDevice& device, DType dtype, const Shape& shape, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> numbers(static_cast<size_t>(numel(shape)));
    for (float& number : numbers) number = std::uniform_real_distribution<float>(-2, 2)(random);
    const Tensor wide = from_host(device, DType::kF32, shape, numbers.data());
    return converted(wide, dtype);
  }
  static Tensor number(ContextDevice& device, float value) { return full(device, DType::kF32, {}, value); }

  struct Sizes {
    int64_t m, n, k;
  };
  // The product, its amax, and how much work it queued. The operands lie row by row, or as a linear layer's.
  struct Outcome {
    std::vector<double> values;
    double amax;
    int64_t work;
  };
  static Outcome multiply(ContextDevice& device, const Sizes& sizes, DType result, bool is_layer) {
    const Tensor a = noise(device, DType::kF8E4M3, {sizes.m, sizes.k}, 1);
    const Tensor b = is_layer ? ops::transpose(noise(device, DType::kF8E4M3, {sizes.n, sizes.k}, 2), 0, 1)
                              : noise(device, DType::kF8E4M3, {sizes.k, sizes.n}, 2);
    const Tensor amax = number(device, 9);
    const ops::ScaledOperands operands = {.scale_a = number(device, 0.5),
                                          .scale_b = number(device, 2),
                                          .bias = noise(device, DType::kBF16, {sizes.n}, 3),
                                          .scale_out = size_of(result) == 1 ? number(device, 0.25) : Tensor(),
                                          .amax = amax};
    const int64_t before = is_emulated() ? queued() : 0;
    const Tensor product = ops::scaled_matmul(a, b, operands, result);
    const int64_t work = is_emulated() ? queued() - before : 0;
    return {values(converted(product, DType::kF32)), values(amax)[0], work};
  }

  // Scales are powers of two and sums exact enough that all ways round the same numbers, but for sums that lie on the
  // border of two.
  static void expect_alike(const Outcome& actual, const Outcome& expected) {
    ASSERT_EQ(actual.values.size(), expected.values.size());
    for (size_t i = 0; i < expected.values.size(); ++i) {
      ASSERT_NEAR(actual.values[i], expected.values[i], std::fabs(expected.values[i]) / 8 + 1e-4) << i;
    }
    EXPECT_NEAR(actual.amax, expected.amax, 1e-4);
  }
};

constexpr DType kResults[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

TEST_F(Fp8OnCuda, EveryWayHasTheValuesOfTheCpu) {
  for (const auto& [m, n, k] : {Sizes{32, 48, 64}, {33, 16, 32}, {17, 19, 70}, {3, 5, 7}, {128, 64, 16}}) {
    for (const DType result : kResults) {
      for (const bool is_layer : {false, true}) {
        SCOPED_TRACE(std::string(name_of(result)) + " " + std::to_string(m));
        expect_alike(multiply(cuda_device(context()), {m, n, k}, result, is_layer),
                     multiply(device(), {m, n, k}, result, is_layer));
      }
    }
  }
}

TEST_F(Fp8OnCuda, ALayerToF8TakesOneProductAndItsScale) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated device counts its work";
  ContextDevice& cuda = cuda_device(context());
  EXPECT_EQ(multiply(cuda, {32, 48, 64}, DType::kF8E4M3, true).work, 2) << "1 / scale and the product";
  EXPECT_EQ(multiply(cuda, {32, 48, 64}, DType::kF8E4M3, false).work, 3) << "and a copy of b";
}

TEST_F(Fp8OnCuda, AnOldGpuMultipliesInBf16) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime describes another machine";
  set_capability(8);
  const Ref<Context> old = make_ref<Context>(options());
  for (const DType result : kResults) {
    const Outcome outcome = multiply(cuda_device(*old), {32, 48, 64}, result, true);
    EXPECT_EQ(outcome.work, 5) << "two copies, the product, the clearing of amax, and the end";
    expect_alike(outcome, multiply(device(), {32, 48, 64}, result, true));
  }
}

TEST_F(Fp8OnCuda, SumsKeepMoreBitsThanTheResult) {
  const Tensor a = full(cuda_device(context()), DType::kF8E4M3, {16, 4096}, 1.0);
  const Tensor b = ops::transpose(full(a.device(), DType::kF8E4M3, {16, 4096}, 1.0), 0, 1);
  const Tensor one = number(a.device(), 1);
  const Tensor product =
      ops::scaled_matmul(a, b, {.scale_a = one, .scale_b = one, .bias = {}, .scale_out = {}, .amax = {}}, DType::kF32);
  EXPECT_EQ(values(product), std::vector<double>(256, 4096));
}

}  // namespace
}  // namespace halftone
