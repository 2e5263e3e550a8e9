// Linear layers under a low-precision recipe: their products against products in double of the values that the codes
// stand for, what they keep for backward, and the choice of the recipe. tests/ops/scaled_test.cpp has the codes.
#include "ops/dispatch/recipe.h"

#include <cmath>

#include "autograd/parameter.h"
#include "autograd/weights/weights.h"
#include "instruction_sets.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"
#include "ops/scaled/recipe_scales.h"
#include "probe_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

using Values = std::vector<double>;

struct NamedRecipe {
  const char* name;
  RecipeOptions options;
};
void PrintTo(const NamedRecipe& recipe, std::ostream* out) { *out << recipe.name; }

constexpr NumberFormat kE4M3 = NumberFormat::kE4M3, kE5M2 = NumberFormat::kE5M2;
const NamedRecipe kRecipes[] = {
    {"Current", {.kind = RecipeKind::kCurrent, .gradient_format = kE5M2}},
    {"CurrentE4M3", {.kind = RecipeKind::kCurrent, .gradient_format = kE4M3}},
    {"Block", {.kind = RecipeKind::kBlock, .gradient_format = kE4M3}},
    {"BlockE5M2", {.kind = RecipeKind::kBlock, .gradient_format = kE5M2}},
    {"Mxfp8", {.kind = RecipeKind::kMxfp8, .gradient_format = kE4M3}},
    {"Mxfp8Up", {.kind = RecipeKind::kMxfp8, .gradient_format = kE5M2, .scale_rounds_up = true}},
    {"Nvfp4",
     {.kind = RecipeKind::kNvfp4, .gradient_format = kE4M3, .rounds_gradients_by_chance = false, .rotates = false}},
    {"Nvfp4Rows",
     {.kind = RecipeKind::kNvfp4,
      .gradient_format = kE4M3,
      .scales_weights_in_squares = false,
      .rounds_gradients_by_chance = false,
      .rotates = false}},
};

// Values of several magnitudes in each block, so that the scale of a wrong block shows.
Values spread(int64_t count, int seed) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) + 0.37 * seed;
    values[i] = std::sin(1.7 * x + seed) * std::exp(2.0 * std::sin(0.031 * x));
  }
  return values;
}

class RecipeTest : public RoomTest {
 protected:
  static constexpr int64_t kRows = 70, kIn = 150, kOut = 40;  // no multiples of a block

  void begin(const RecipeOptions& options) {
    recipe_ = make_ref<Recipe>(options);
    policy_.set_recipe(recipe_);
    scope().autocast = &policy_;
  }

  Tensor bf16(const Shape& shape, int seed) { return tensor(shape, spread(numel(shape), seed), DType::kBF16); }
  Ref<Parameter> weight(int seed = 2) {
    const Ref<Parameter> made = make_ref<Parameter>("weight", tensor({kOut, kIn}, spread(kOut * kIn, seed)));
    made->weights().set_compute(converted(made->weights().master(), DType::kBF16));
    return made;
  }

  // The values for which the codes of a matrix stand, along its rows or along its columns; [rows, columns] either way.
  Values coded(const Tensor& matrix, Operand operand, bool along_rows) {
    const ops::ScaleOptions scales = scales_of(*recipe_, operand);
    if (along_rows) return values(ops::from_scaled(ops::to_scaled(matrix, scales), DType::kF32));
    const Tensor turned = matrix.as_strided({matrix.size(1), matrix.size(0)}, {1, matrix.size(1)}, matrix.offset());
    return transposed(values(ops::from_scaled(ops::to_scaled(turned, scales), DType::kF32)), turned.size(0));
  }
  static Values transposed(const Values& matrix, int64_t rows) {
    const int64_t columns = static_cast<int64_t>(matrix.size()) / rows;
    Values turned(matrix.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) turned[j * rows + i] = matrix[i * columns + j];
    }
    return turned;
  }

  // a [m, k] times b [k, n], which must be `actual` up to sums in FP32 and one rounding to a number of `digits` bits.
  static void expect_product(const Values& actual, const Values& a, const Values& b, int64_t k, int digits) {
    const int64_t m = static_cast<int64_t>(a.size()) / k, n = static_cast<int64_t>(b.size()) / k;
    ASSERT_EQ(actual.size(), static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += a[i * k + p] * b[p * n + j];
          size += std::abs(a[i * k + p] * b[p * n + j]);
        }
        const double bound = std::ldexp(std::abs(sum), -digits) + size * static_cast<double>(k) * 0x1p-24;
        ASSERT_NEAR(actual[i * n + j], sum, bound) << i << ", " << j;
      }
    }
  }

  const ScopeGuard restore_;
  AutocastPolicy policy_{DType::kBF16};
  Ref<Recipe> recipe_;
};

constexpr int kBF16Digits = 8, kF32Digits = 24;

class RecipeProducts : public RecipeTest, public testing::WithParamInterface<NamedRecipe> {};

TEST_P(RecipeProducts, OfForwardAndBackwardAreThoseOfTheCodes) {
  begin(GetParam().options);
  const Tensor x = bf16({kRows, kIn}, 1), gradient = bf16({kRows, kOut}, 3);
  set_requires_grad(x, true);
  const Ref<Parameter> w = weight();
  const Tensor w_bf16 = w->weights().compute();

  const Tensor y = ops::linear(x, w->leaf(), Tensor());
  expect_product(values(y), coded(x.detach(), Operand::kInput, true),
                 transposed(coded(w_bf16, Operand::kWeight, true), kOut), kIn, kBF16Digits);
  run_backward(y, gradient, false);
  expect_product(grad(x), coded(gradient, Operand::kGradient, true), coded(w_bf16, Operand::kWeight, false), kOut,
                 kBF16Digits);
  expect_product(values(w->grad()), transposed(coded(gradient, Operand::kGradient, false), kRows),
                 coded(x.detach(), Operand::kInput, false), kRows, kF32Digits);
}

// The activation's argument is kept, and its result is coded again in backward.
TEST_P(RecipeProducts, OfALayerOverAnActivationAreThoseOfTheTwoOperations) {
  begin(GetParam().options);
  const Tensor x = bf16({kRows, kIn}, 1), gradient = bf16({kRows, kOut}, 3);
  const Tensor fused_x = x.detach();
  set_requires_grad(x, true);
  set_requires_grad(fused_x, true);
  const Ref<Parameter> w = weight(), fused_w = weight();
  const Tensor y = ops::linear(ops::relu(x), w->leaf(), Tensor());
  const Tensor fused = ops::activation_linear(fused_x, fused_w->leaf(), Tensor(), GemmActivation::kRelu);
  EXPECT_EQ(values(fused), values(y));
  run_backward(y, gradient, false);
  run_backward(fused, gradient, false);
  EXPECT_EQ(grad(fused_x), grad(x));
  EXPECT_EQ(values(fused_w->grad()), values(w->grad()));
}

TEST_P(RecipeProducts, OfALayerWithAnActivationAreThoseOfTheTwoOperations) {
  begin(GetParam().options);
  const Tensor x = bf16({kRows, kIn}, 1), bias = bf16({kOut}, 4), gradient = bf16({kRows, kOut}, 3);
  const Tensor fused_x = x.detach(), fused_bias = bias.detach();
  for (const Tensor& each : {x, bias, fused_x, fused_bias}) set_requires_grad(each, true);
  const Ref<Parameter> w = weight(), fused_w = weight();
  const Tensor y = ops::relu(ops::linear(x, w->leaf(), bias));
  const Tensor fused = ops::linear_activation(fused_x, fused_w->leaf(), fused_bias, GemmActivation::kRelu);
  EXPECT_EQ(values(fused), values(y));
  run_backward(y, gradient, false);
  run_backward(fused, gradient, false);
  EXPECT_EQ(grad(fused_x), grad(x));
  EXPECT_EQ(grad(fused_bias), grad(bias));
  EXPECT_EQ(values(fused_w->grad()), values(w->grad()));
}

// Backward codes the weights that forward read, which an update may have followed.
TEST_P(RecipeProducts, BackwardLeavesNoCodesOfFormerWeights) {
  begin(GetParam().options);
  const Ref<Parameter> w = make_ref<Parameter>("weight", tensor({kOut, kIn}, spread(kOut * kIn, 2)));
  const Tensor former_x = bf16({kRows, kIn}, 1), gradient = bf16({kRows, kOut}, 3);
  set_requires_grad(former_x, true);
  const Tensor before = ops::linear(former_x, w->leaf(), Tensor());
  const Tensor changed = tensor({kOut, kIn}, spread(kOut * kIn, 9));
  w->weights().write(changed);
  w->weights().mark_current();
  run_backward(before, gradient, false);
  const Ref<Parameter> fresh = make_ref<Parameter>("weight", changed);
  const Tensor x = bf16({kRows, kIn}, 1), fresh_x = x.detach();
  set_requires_grad(x, true);
  set_requires_grad(fresh_x, true);
  const Tensor y = ops::linear(x, w->leaf(), Tensor()), expected = ops::linear(fresh_x, fresh->leaf(), Tensor());
  EXPECT_EQ(values(y), values(expected));
  run_backward(y, gradient, false);
  run_backward(expected, gradient, false);
  EXPECT_EQ(grad(x), grad(fresh_x));
}

INSTANTIATE_TEST_SUITE_P(, RecipeProducts, testing::ValuesIn(kRecipes),
                         [](const auto& info) { return std::string(info.param.name); });

ScaledKernels real_scaled;
int codings;

Status quantize_and_count(Stream& stream, const View& in, const CodeRounding& rounding, const View& amax,
                          const ScaledView& out) noexcept {
  ++codings;
  return real_scaled.quantize_blocks(stream, in, rounding, amax, out);
}

class RecipeCodes : public RecipeTest {
 protected:
  RecipeCodes() {
    real_scaled = probe_.table().scaled;
    probe_.table().scaled.quantize_blocks = quantize_and_count;
  }
  int codings_of_step(Parameter& w) {
    codings = 0;
    const Tensor x = bf16({kRows, kIn}, 1);
    set_requires_grad(x, true);
    run_backward(ops::linear(x, w.leaf(), Tensor()), bf16({kRows, kOut}, 3), false);
    return codings;
  }

  ProbeDevice probe_{device()};
};

// A step codes the input, the gradient and the weight along two dimensions each.
TEST_F(RecipeCodes, OfAWeightAreMadeOnceAfterEachUpdate) {
  begin({.kind = RecipeKind::kMxfp8, .gradient_format = kE4M3});
  const Ref<Parameter> w = weight();
  EXPECT_EQ(codings_of_step(*w), 6);
  EXPECT_EQ(codings_of_step(*w), 4);
  w->weights().write(tensor({kOut, kIn}, spread(kOut * kIn, 9)));
  w->weights().mark_current();
  EXPECT_EQ(codings_of_step(*w), 6);
}

TEST_F(RecipeCodes, OfWholeTensorsAndSquaresAreMadeForBothDirections) {
  begin({.kind = RecipeKind::kCurrent, .gradient_format = kE5M2});
  Ref<Parameter> w = weight();
  EXPECT_EQ(codings_of_step(*w), 3);
  EXPECT_EQ(codings_of_step(*w), 2);
  begin({.kind = RecipeKind::kBlock, .gradient_format = kE4M3});
  w = weight();
  EXPECT_EQ(codings_of_step(*w), 5);
  EXPECT_EQ(codings_of_step(*w), 4);
}

TEST_F(RecipeCodes, AreNotMadeForAGradientThatNobodyNeeds) {
  begin({.kind = RecipeKind::kMxfp8, .gradient_format = kE4M3});
  const Ref<Parameter> w = weight();
  w->set_frozen(true);
  EXPECT_EQ(codings_of_step(*w), 4) << "input, gradient and weight for two products";
  codings = 0;
  ops::linear(bf16({kRows, kIn}, 1), w->leaf(), Tensor());
  EXPECT_EQ(codings, 2);
}

TEST_F(RecipeTest, BackwardKeepsTheCodesOfTheInput) {
  const Ref<Parameter> w = weight();
  const auto kept_by = [&](const RecipeOptions& options) {
    begin(options);
    ops::linear(bf16({1, kIn}, 1), w->leaf(), Tensor());  // makes the codes of the weight
    const int64_t before = device().allocator->stats().current;
    const Tensor y = ops::linear(bf16({1024, kIn}, 1), w->leaf(), Tensor());
    return static_cast<double>(device().allocator->stats().current - before - y.numel() * 2) / (1024.0 * kIn);
  };
  EXPECT_LE(kept_by({.kind = RecipeKind::kCurrent, .gradient_format = kE5M2}), 1.01);
  EXPECT_LE(kept_by({.kind = RecipeKind::kBlock, .gradient_format = kE4M3}), 1.04);
  EXPECT_LE(kept_by({.kind = RecipeKind::kMxfp8, .gradient_format = kE4M3}), 1.04);
  EXPECT_LE(kept_by({.kind = RecipeKind::kNvfp4, .gradient_format = kE4M3}), 0.57);
}

// Backward gets the gradient that the result itself would give, also of NaN and of results that end within a byte.
TEST_F(RecipeTest, ReluPassesItsGradientByBits) {
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
      for (const int64_t count : {0, 1, 8, 9, 300, 70001}) {
        Values of_x = spread(count, 1);
        for (size_t i = 0; i < of_x.size(); i += 5) of_x[i] = i % 2 == 0 ? 0 : double(NAN);
        const Tensor gradient = tensor({count}, spread(count, 3), dtype);
        const auto gradient_of_relu = [&] {
          const Tensor x = leaf({count}, of_x, dtype);
          run_backward(ops::relu(x), gradient, false);
          return grad(x);
        };
        scope().autocast = nullptr;
        const Values expected = gradient_of_relu();
        begin({.kind = RecipeKind::kCurrent, .gradient_format = kE5M2});
        EXPECT_EQ(gradient_of_relu(), expected) << name_of(dtype) << count;
      }
    }
  });
}

TEST_F(RecipeTest, HoldsForOperationsThatThePolicyCasts) {
  begin({.kind = RecipeKind::kNvfp4, .gradient_format = kE4M3});
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6.5}), w = tensor({1, 3}, {1, 1, 1.25});
  const Values coded = values(ops::linear(x, w, Tensor())), exact = {6.75, 17.125};
  EXPECT_NE(coded, exact);
  EXPECT_EQ(values(ops::linear(converted(x, DType::kF64), converted(w, DType::kF64), Tensor())), exact);
  policy_.set(Op::kLinear, AutocastClass::kFp32);
  EXPECT_EQ(values(ops::linear(x, w, Tensor())), exact);
  policy_.set(Op::kLinear, AutocastClass::kLow);
  const Ref<OwnRecipe> none = make_ref<OwnRecipe>(nullptr);
  const ThreadGuard<&Scope::recipe> of_module(none.get());
  EXPECT_EQ(values(ops::linear(x, w, Tensor())), (Values{6.75, 17.125}));
}

// Each code is one of the two beside the value, and their mean over many keys is the value.
TEST_F(RecipeTest, RoundsGradientsByChance) {
  begin({.kind = RecipeKind::kNvfp4, .gradient_format = kE4M3, .rotates = false});
  const Tensor x = tensor({16, 1}, Values(16, 1.0), DType::kBF16);
  Values gradient(16, 6.0);
  gradient[3] = 0.75;  // half-way between two codes under the scale that 6 gives
  constexpr int kRuns = 400;
  double sum = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Tensor w = leaf({1, 1}, {1.0}, DType::kBF16);
    run_backward(ops::linear(x, w, Tensor()), tensor({16, 1}, gradient, DType::kBF16), false);
    const double coded = grad(w)[0] - 90;
    EXPECT_TRUE(coded == 0.5 || coded == 1.0) << coded;
    sum += coded;
  }
  EXPECT_NEAR(sum / kRuns, 0.75, 0.05) << "four deviations of the mean";
}

// Beside an outlier, small numbers of a block become 0 every time. After a rotation what is lost is noise, which other
// signs change.
TEST_F(RecipeTest, RotationKeepsSmallNumbersInTheMean) {
  Values input(64, 0.5);
  for (size_t i = 5; i < input.size(); i += 16) input[i] = 40;
  const auto sum_of_small = [&](bool rotates) {
    begin({.kind = RecipeKind::kNvfp4,
           .gradient_format = kE4M3,
           .rounds_gradients_by_chance = false,
           .rotates = rotates});
    const Tensor w = leaf({1, 1}, {1.0});
    run_backward(ops::linear(tensor({64, 1}, input), w, Tensor()), full(device(), DType::kF32, {64, 1}, 1.0), false);
    return grad(w)[0] - 4 * 40;
  };
  EXPECT_EQ(sum_of_small(false), 0);
  constexpr int kRuns = 200;
  double mean = 0;
  for (int i = 0; i < kRuns; ++i) mean += sum_of_small(true) / kRuns;
  EXPECT_NEAR(mean, 60 * 0.5, 10);
}

}  // namespace
}  // namespace halftone
