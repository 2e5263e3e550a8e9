// Scaled tensors have the codes and scales of plain loops, for every layout, format and instruction set.
#include "ops/scaled/scaled.h"

#include <cstring>
#include <random>
#include <string>

#include "core/number/bfloat16.h"
#include "core/number/scale8.h"
#include "instruction_sets.h"
#include "room_fixture.h"
#include "scaled_reference.h"

namespace halftone {
namespace {

using ops::Scaled;
using ops::ScaleLayout;
using ops::ScaleOptions;

struct Matrix {
  std::string what;
  Tensor tensor;
  std::vector<float> values;
};

// Every layout with every format and rule that it has.
std::vector<ScaleOptions> all_options() {
  std::vector<ScaleOptions> result;
  for (const NumberFormat format : {NumberFormat::kE4M3, NumberFormat::kE5M2, NumberFormat::kE2M1}) {
    for (int32_t layout = 1; layout <= ops::kScaleLayoutLast; ++layout) {
      ScaleOptions options;
      options.layout = static_cast<ScaleLayout>(layout);
      options.format = format;
      if (ops::is_nv(options.layout) && format != NumberFormat::kE2M1) continue;
      result.push_back(options);
      if (options.layout != ScaleLayout::kMx1x32) continue;
      options.scale_rounds_up = true;
      result.push_back(options);
    }
  }
  return result;
}

std::string name_of(const ScaleOptions& options) {
  return "layout " + std::to_string(static_cast<int>(options.layout)) + ", format " +
         std::to_string(static_cast<int>(options.format)) + (options.scale_rounds_up ? ", up" : "");
}

class ScaledTest : public RoomTest {
 protected:
  Matrix matrix(const char* what, const Tensor& tensor) {
    Matrix result = {what, tensor, std::vector<float>(static_cast<size_t>(tensor.numel()))};
    read_to_host(tensor, DType::kF32, result.values.data());
    return result;
  }
  static Tensor transposed(const Tensor& tensor) {
    return tensor.as_strided({tensor.size(1), tensor.size(0)}, {tensor.strides()[1], tensor.strides()[0]}, 0);
  }

  // All patterns of BF16, in order: neighbours have the same exponent.
  Tensor every_bf16(bool with_specials) {
    std::vector<uint16_t> words;
    for (uint32_t word = 0; word < 65536; ++word) {
      const bool is_special = (word & 0x7f80) == 0x7f80;
      words.push_back(static_cast<uint16_t>(is_special && !with_specials ? 0 : word));
    }
    return from_host(device(), DType::kBF16, {256, 256}, words.data());
  }
  Tensor random(const Shape& shape, DType dtype, float spread) {
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(numel(shape)));
    for (float& value : values) value = normal(generator) * std::exp2(spread * normal(generator));
    return converted(from_host(device(), DType::kF32, shape, values.data()), dtype);
  }

  std::vector<Matrix> matrices() {
    return {matrix("every BF16", every_bf16(true)),
            matrix("every BF16 in columns", transposed(every_bf16(true))),
            matrix("every finite BF16", every_bf16(false)),
            matrix("every finite BF16 in columns", transposed(every_bf16(false))),
            matrix("f32", random({37, 300}, DType::kF32, 0)),
            matrix("f32 of many sizes", random({130, 515}, DType::kF32, 6)),
            matrix("f16 in columns", transposed(random({259, 131}, DType::kF16, 1))),
            matrix("a slice of f32", random({40, 600}, DType::kF32, 1).as_strided({19, 270}, {1200, 2}, 7)),
            matrix("one element", random({1, 1}, DType::kF32, 1)),
            matrix("one column", random({33, 1}, DType::kF32, 1)),
            matrix("zeros", full(device(), DType::kF32, {20, 129}, 0)),
            matrix("subnormal numbers", full(device(), DType::kF32, {3, 40}, 0x1p-140)),
            matrix("no rows", full(device(), DType::kF32, {0, 5}, 0)),
            matrix("no columns", full(device(), DType::kF32, {5, 0}, 0))};
  }
};

// One code for each element.
std::vector<uint8_t> codes_of(const Scaled& scaled) {
  std::vector<uint8_t> bytes(static_cast<size_t>(scaled.codes.numel()));
  if (!bytes.empty()) std::memcpy(bytes.data(), scaled.codes.data(), bytes.size());
  if (scaled.format != NumberFormat::kE2M1) return bytes;
  std::vector<uint8_t> codes;
  const int64_t columns = scaled.shape[1], width = (columns + 1) / 2;
  for (int64_t i = 0; i < scaled.shape[0] * 2 * width; ++i) {
    const auto code = static_cast<uint8_t>(bytes[static_cast<size_t>(i / 2)] >> (i % 2 * 4) & 15);
    if (i % (2 * width) < columns) {
      codes.push_back(code);
    } else {
      EXPECT_EQ(code, 0) << "behind the end of row " << i / (2 * width);
    }
  }
  return codes;
}

std::vector<float> scales_of(const Tensor& scales) {
  std::vector<float> result(static_cast<size_t>(scales.numel()));
  if (scales.dtype() != DType::kU8) {
    read_to_host(scales, DType::kF32, result.data());
    return result;
  }
  for (size_t i = 0; i < result.size(); ++i) {
    const int code = static_cast<const uint8_t*>(scales.data())[i];
    result[i] = code == 255 ? NAN : std::ldexp(1.0f, code - 127);
  }
  return result;
}

// Equal bits, where every NaN is equal.
::testing::AssertionResult are_equal(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) {
    return ::testing::AssertionFailure() << found.size() << " numbers, expected " << expected.size();
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    if (std::memcmp(&found[i], &expected[i], sizeof(float)) == 0) continue;
    return ::testing::AssertionFailure() << "number " << i << " is " << found[i] << ", expected " << expected[i];
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult are_equal(const std::vector<uint8_t>& found, const std::vector<uint8_t>& expected,
                                     const std::vector<float>& values) {
  if (found.size() != expected.size()) {
    return ::testing::AssertionFailure() << found.size() << " codes, expected " << expected.size();
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;
    return ::testing::AssertionFailure() << "code " << i << " of " << values[i] << " is " << int{found[i]}
                                         << ", expected " << int{expected[i]};
  }
  return ::testing::AssertionSuccess();
}

void expect_parts(const Matrix& x, const ScaleOptions& options, const ScaledReference& expected) {
  const Scaled scaled = ops::to_scaled(x.tensor, options);
  EXPECT_TRUE(are_equal(codes_of(scaled), expected.codes, x.values));
  // A tensor and a row without elements have a scale of 1.
  const std::vector<float> scales = scales_of(scaled.scales), ones(scales.size(), 1);
  EXPECT_TRUE(are_equal(scales, x.values.empty() ? ones : expected.scales));
  EXPECT_EQ(scaled.tensor_scale.defined(), ops::is_nv(options.layout));
  if (scaled.tensor_scale.defined()) {
    EXPECT_TRUE(are_equal(scales_of(scaled.tensor_scale), {expected.tensor_scale}));
  }
  std::vector<float> values(x.values.size());
  read_to_host(ops::from_scaled(scaled, DType::kF32), DType::kF32, values.data());
  EXPECT_TRUE(are_equal(values, expected.values));
}

void expect_model(const Matrix& x, const ScaleOptions& options) {
  SCOPED_TRACE(x.what + ", " + name_of(options));
  ScaledModel model(options, x.tensor.size(0), x.tensor.size(1), x.values);
  if (options.scale.defined()) model.give_scale(static_cast<float>(item(options.scale)));
  const ScaledReference expected = model.run();
  for_each_instruction_set([&] { expect_parts(x, options, expected); });
}

TEST_F(ScaledTest, HaveTheCodesAndScalesOfPlainLoops) {
  const std::vector<Matrix> all = matrices();
  for (const ScaleOptions& options : all_options()) {
    for (const Matrix& x : all) expect_model(x, options);
  }
}

TEST_F(ScaledTest, AreRoundedUpForAsManyWordsAsTheShareSays) {
  const std::vector<Matrix> all = matrices();
  for (ScaleOptions options : all_options()) {
    options.stochastic = true;
    options.key = {.seed = 0x123456789abcdef, .sequence = 77};
    for (const Matrix& x : all) expect_model(x, options);
  }
}

// Each value is rounded up or down, but not the mean.
TEST_F(ScaledTest, KeepTheMeanOfValuesThatAreRoundedByChance) {
  for (ScaleOptions options : all_options()) {
    SCOPED_TRACE(name_of(options));
    const double value = 1.1;
    const Tensor x = full(device(), DType::kF32, {128, 512}, value);
    options.scale = options.layout == ScaleLayout::kTensor ? full(device(), DType::kF32, {}, 1) : Tensor();
    options.stochastic = true;
    double sum = 0;
    for (const double read : values(ops::from_scaled(ops::to_scaled(x, options), DType::kF32))) sum += read;
    // Steps of a code are at most half of the value, so the deviation of the mean is at most 0.001.
    EXPECT_NEAR(sum / 65536, static_cast<double>(1.1f), 0.005);
  }
}

TEST_F(ScaledTest, AreTheSameOnAnyNumberOfThreads) {
  const Tensor x = random({200, 700}, DType::kF32, 2);
  ContextOptions alone = RoomTest::options();
  alone.num_threads = 1;
  const Ref<Context> other = make_ref<Context>(alone);
  const Tensor copy = moved_to(other->device("cpu"), x);
  for (ScaleOptions options : all_options()) {
    for (const bool stochastic : {false, true}) {
      SCOPED_TRACE(name_of(options));
      options.stochastic = stochastic;
      const Scaled many = ops::to_scaled(x, options), one = ops::to_scaled(copy, options);
      EXPECT_EQ(codes_of(many), codes_of(one));
      EXPECT_TRUE(are_equal(scales_of(many.scales), scales_of(one.scales)));
    }
  }
}

TEST_F(ScaledTest, UseAGivenScaleAndNoteTheLargestMagnitude) {
  for (const NumberFormat format : {NumberFormat::kE4M3, NumberFormat::kE5M2, NumberFormat::kE2M1}) {
    const Matrix x = matrix("given", random({37, 300}, DType::kBF16, 3));
    ScaleOptions options;
    options.format = format;
    options.scale = full(device(), DType::kF32, {1}, 0.03);
    options.amax = full(device(), DType::kF32, {1}, 7);
    expect_model(x, options);
    float most = 0;
    for (const float value : x.values) most = std::max(most, std::fabs(value));
    EXPECT_EQ(item(options.amax), static_cast<double>(most));
    options.scale = Tensor();
    fill(options.amax, 7);
    expect_model(x, options);
    EXPECT_EQ(item(options.amax), static_cast<double>(most));
  }
}

// A saturated infinity would hide an overflow from a gradient scaler.
TEST_F(ScaledTest, ShowAnInfinityUnderAGivenScale) {
  const Tensor x = tensor({1, 4}, {1, INFINITY, -INFINITY, 1e9});
  for (const NumberFormat format : {NumberFormat::kE4M3, NumberFormat::kE5M2}) {
    ScaleOptions options;
    options.format = format;
    options.scale = full(device(), DType::kF32, {1}, 1);
    for (const bool stochastic : {false, true}) {
      options.stochastic = stochastic;
      const std::vector<double> read = values(ops::from_scaled(ops::to_scaled(x, options), DType::kF32));
      EXPECT_EQ(read[0], 1);
      EXPECT_TRUE(std::isnan(read[1]) && std::isnan(read[2])) << name_of(options);
      EXPECT_EQ(read[3], format == NumberFormat::kE4M3 ? 448 : 57344);
    }
  }
}

TEST_F(ScaledTest, ReadInEveryFloatDtype) {
  const Tensor x = random({20, 70}, DType::kF32, 1);
  for (const ScaleOptions& options : all_options()) {
    const Scaled scaled = ops::to_scaled(x, options);
    const Tensor wide = ops::from_scaled(scaled, DType::kF32);
    for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
      EXPECT_EQ(values(ops::from_scaled(scaled, dtype)), values(converted(wide, dtype)));
    }
  }
}

}  // namespace
}  // namespace halftone
