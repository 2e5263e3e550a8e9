// Scaled tensors on the CUDA device have the bytes of those on the CPU, without a wait.
#include "ops/scaled/scaled.h"

#include <cmath>
#include <random>
#include <string>

#include "cuda_device.h"
#include "ops/elementwise/saved_relu.h"
#include "room_fixture.h"

namespace halftone {
namespace {

using ops::Scaled;
using ops::ScaleLayout;
using ops::ScaleOptions;

class ScaledOnCuda : public RoomTest {
 protected:
  // Numbers of many sizes, and rows of zeros.
  Tensor numbers(const Shape& shape, DType dtype) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(numel(shape)));
    for (float& value : values) value = normal(generator) * std::exp2(3 * normal(generator));
    std::fill_n(values.begin(), values.size() / 8, 0.0f);
    return converted(from_host(device(), DType::kF32, shape, values.data()), dtype);
  }

  static Tensor turned(const Tensor& x) { return x.as_strided({x.size(1), x.size(0)}, {1, x.size(1)}, 0); }

  static std::vector<uint8_t> bytes_of(const Tensor& tensor) {
    std::vector<uint8_t> bytes(static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype()));
    read_to_host(tensor, tensor.dtype(), bytes.data());
    return bytes;
  }

  // `x` and `there` have the same elements.
  static void expect_same(const Tensor& x, const Tensor& there, const ScaleOptions& options) {
    const Scaled expected = ops::to_scaled(x, options);
    const int64_t waits = cuda_waits();
    const Scaled scaled = ops::to_scaled(there, options);
    const Tensor values = ops::from_scaled(scaled, DType::kBF16);
    EXPECT_EQ(cuda_waits(), waits);
    EXPECT_EQ(bytes_of(scaled.codes), bytes_of(expected.codes));
    EXPECT_EQ(bytes_of(scaled.scales), bytes_of(expected.scales));
    const bool has_two = expected.tensor_scale.defined();
    EXPECT_TRUE(!has_two || bytes_of(scaled.tensor_scale) == bytes_of(expected.tensor_scale));
    EXPECT_EQ(bytes_of(values), bytes_of(ops::from_scaled(expected, DType::kBF16)));
  }
};

std::vector<ScaleOptions> all_options() {
  std::vector<ScaleOptions> result;
  for (const NumberFormat format : {NumberFormat::kE4M3, NumberFormat::kE5M2, NumberFormat::kE2M1}) {
    for (int32_t layout = 1; layout <= ops::kScaleLayoutLast; ++layout) {
      ScaleOptions options;
      options.layout = static_cast<ScaleLayout>(layout);
      options.format = format;
      options.scale_rounds_up = format == NumberFormat::kE5M2;
      options.key.seed = 5;
      if (ops::is_nv(options.layout) && format != NumberFormat::kE2M1) continue;
      result.push_back(options);
      options.stochastic = true;
      result.push_back(options);
    }
  }
  return result;
}

TEST_F(ScaledOnCuda, HaveTheBytesOfTheCpu) {
  ContextDevice& cuda = cuda_device(context());
  const Tensor wide = numbers({37, 301}, DType::kF32), narrow = numbers({130, 70}, DType::kBF16);
  const Tensor wide_there = moved_to(cuda, wide), narrow_there = moved_to(cuda, narrow);
  for (const ScaleOptions& options : all_options()) {
    SCOPED_TRACE("layout " + std::to_string(static_cast<int>(options.layout)) + ", format " +
                 std::to_string(static_cast<int>(options.format)));
    expect_same(wide, wide_there, options);
    expect_same(turned(narrow), turned(narrow_there), options);
  }
}

TEST_F(ScaledOnCuda, KeepNonFiniteAndEmptyBlocksApart) {
  ContextDevice& cuda = cuda_device(context());
  const Tensor x = tensor({2, 64}, std::vector<double>(128, 2.5));
  fill(x.as_strided({1}, {1}, 3), HUGE_VAL);
  fill(x.as_strided({1}, {1}, 40), NAN);
  const Tensor there = moved_to(cuda, x);
  const Tensor empty_rows = full(device(), DType::kF32, {0, 5}, 0), no_columns = full(device(), DType::kF32, {5, 0}, 0);
  for (const ScaleOptions& options : all_options()) {
    expect_same(empty_rows, moved_to(cuda, empty_rows), options);
    expect_same(no_columns, moved_to(cuda, no_columns), options);
    const Scaled expected = ops::to_scaled(x, options), scaled = ops::to_scaled(there, options);
    EXPECT_EQ(bytes_of(scaled.codes), bytes_of(expected.codes));
    EXPECT_EQ(bytes_of(scaled.scales), bytes_of(expected.scales));
  }
}

TEST_F(ScaledOnCuda, UseAGivenScaleAndNoteTheLargestMagnitude) {
  ContextDevice& cuda = cuda_device(context());
  const Tensor x = numbers({37, 301}, DType::kF32);
  ScaleOptions here, there;
  here.scale = full(device(), DType::kF32, {1}, 0.03);
  here.amax = full(device(), DType::kF32, {1}, 7);
  there.scale = moved_to(cuda, here.scale);
  there.amax = moved_to(cuda, here.amax);
  const Scaled expected = ops::to_scaled(x, here), scaled = ops::to_scaled(moved_to(cuda, x), there);
  EXPECT_EQ(bytes_of(scaled.codes), bytes_of(expected.codes));
  EXPECT_EQ(bytes_of(there.amax), bytes_of(here.amax));
}

TEST_F(ScaledOnCuda, KeepTheBitsOfRelu) {
  ContextDevice& cuda = cuda_device(context());
  for (const int64_t count : {1, 9, 1000}) {
    const Tensor x = numbers({count}, DType::kBF16), gradient = full(device(), DType::kF32, {count}, 1.5);
    const SavedRelu here("relu", x, /*in_bits=*/true), there("relu", moved_to(cuda, x), /*in_bits=*/true);
    EXPECT_EQ(bytes_of(there.gradient("relu", moved_to(cuda, gradient), DType::kBF16)),
              bytes_of(here.gradient("relu", gradient, DType::kBF16)));
  }
}

}  // namespace
}  // namespace halftone
