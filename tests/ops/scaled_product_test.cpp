// Products of scaled tensors against products of their values, and transposed views.
#include <cmath>
#include <random>
#include <string>

#include "ops/matmul/matmul.h"
#include "ops/scaled/product.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class ScaledProductTest : public RoomTest {
 protected:
  using Layout = ops::ScaleLayout;

  Tensor random(const Shape& shape, uint32_t seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(numel(shape)));
    for (float& value : values) value = normal(generator);
    return from_host(device(), DType::kF32, shape, values.data());
  }
  static Tensor turned(const Tensor& tensor) {
    return tensor.as_strided({tensor.size(1), tensor.size(0)}, {tensor.strides()[1], tensor.strides()[0]}, 0);
  }
  static std::vector<double> numbers(const Tensor& tensor) {
    std::vector<float> values(static_cast<size_t>(tensor.numel()));
    read_to_host(tensor, DType::kF32, values.data());
    return {values.begin(), values.end()};
  }

  // Every layout with each format that it has.
  static std::vector<ops::ScaleOptions> every_kind() {
    std::vector<ops::ScaleOptions> kinds;
    for (int32_t layout = 1; layout <= ops::kScaleLayoutLast; ++layout) {
      for (const NumberFormat format : {NumberFormat::kE4M3, NumberFormat::kE5M2, NumberFormat::kE2M1}) {
        ops::ScaleOptions kind;
        kind.layout = static_cast<Layout>(layout);
        kind.format = format;
        if (!ops::is_nv(kind.layout) || format == NumberFormat::kE2M1) kinds.push_back(kind);
      }
    }
    return kinds;
  }

  // Sums of 150 products of about 1 in FP32, on both sides.
  static void expect_close(const Tensor& actual, const Tensor& expected, double relative) {
    const std::vector<double> got = numbers(actual), wanted = numbers(expected);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], wanted[i], 1e-4 + relative * std::fabs(wanted[i])) << i;
    }
  }

  static std::string text_of(const ops::ScaleOptions& kind) {
    return "layout " + std::to_string(static_cast<int>(kind.layout)) + ", format " +
           std::to_string(static_cast<int>(kind.format));
  }
};

TEST_F(ScaledProductTest, IsTheProductOfTheValues) {
  const Tensor x = random({19, 150}, 1), y = random({37, 150}, 2), bias = random({37}, 3);
  for (const ops::ScaleOptions& kind : every_kind()) {
    SCOPED_TRACE(text_of(kind));
    const ops::Scaled a = to_scaled(x, kind), b = to_scaled(y, kind);
    const Tensor plain = ops::matmul(from_scaled(a, DType::kF32), turned(from_scaled(b, DType::kF32)));
    expect_close(scaled_product(a, b, Tensor(), DType::kF32), plain, 0);
    const Tensor biased = ops::linear(from_scaled(a, DType::kF32), from_scaled(b, DType::kF32), bias);
    expect_close(scaled_product(a, b, bias, DType::kF32), biased, 0);
    expect_close(scaled_product(a, b, bias, DType::kBF16), biased, 0x1p-8);
  }
}

TEST_F(ScaledProductTest, ATransposedMatrixSharesItsMemoryAndHasItsValues) {
  for (const Shape& shape : {Shape{37, 150}, Shape{129, 16}, Shape{1, 3}, Shape{5, 1}}) {
    const Tensor x = random(shape, 1), y = random({11, shape[0]}, 2);
    for (const ops::ScaleOptions& kind : every_kind()) {
      SCOPED_TRACE(text_of(kind));
      const bool is_square =
          kind.layout == Layout::kTensor || kind.layout == Layout::kBlock128x128 || kind.layout == Layout::kNv16x16;
      if (!is_square) continue;
      const ops::Scaled straight = to_scaled(x, kind);
      const ops::Scaled turn = ops::transposed(straight);
      EXPECT_EQ(turn.codes.data(), straight.codes.data());
      EXPECT_EQ(numbers(from_scaled(turn, DType::kF32)), numbers(turned(from_scaled(straight, DType::kF32))));
      const ops::Scaled a = to_scaled(y, kind);
      const Tensor wanted = ops::matmul(from_scaled(a, DType::kF32), from_scaled(straight, DType::kF32));
      expect_close(scaled_product(a, turn, Tensor(), DType::kF32), wanted, 0);
    }
  }
}

TEST_F(ScaledProductTest, RefusesWhatHasNoProduct) {
  ops::ScaleOptions rows;
  rows.layout = Layout::kMx1x32;
  const ops::Scaled a = to_scaled(random({3, 64}, 1), rows), b = to_scaled(random({5, 64}, 2), rows);
  const ops::Scaled longer = to_scaled(random({5, 65}, 2), rows);
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  const auto product = [&](const ops::Scaled& right, const Tensor& bias, DType dtype) {
    return code_of([&] { scaled_product(a, right, bias, dtype); });
  };
  EXPECT_EQ(code_of([&] { ops::transposed(a); }), Code::kInvalidArgument);
  EXPECT_EQ(product(longer, Tensor(), DType::kF32), Code::kShapeMismatch);
  EXPECT_EQ(product(b, random({3}, 1), DType::kF32), Code::kShapeMismatch);
  EXPECT_EQ(product(b, full(device(), DType::kF64, {5}, 0), DType::kF32), Code::kDtypeMismatch);
  EXPECT_EQ(product(b, Tensor(), DType::kF64), Code::kInvalidArgument);
  EXPECT_EQ(product(b, Tensor(), DType::kF8E4M3), Code::kInvalidArgument);
  EXPECT_EQ(product(b, Tensor(), DType::kF16), Code::kOk);
}

}  // namespace
}  // namespace halftone
