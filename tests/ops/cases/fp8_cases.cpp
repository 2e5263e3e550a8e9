// 8-bit floats: largest magnitudes, scales, conversions with a scale, and products.
#include <algorithm>
#include <array>
#include <cmath>

#include "calls.h"
#include "nearest_code.h"
#include "ops/ops.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }

double largest_number(DType dtype) { return dtype == DType::kF8E4M3 ? 448 : 57344; }

double clamped(double value, DType dtype) {
  const double largest = largest_number(dtype);
  return std::isnan(value) ? value : std::clamp(value, -largest, largest);
}

// One f32 that an operation writes.
Tensor number_to_write(const Tensor& like) { return full(like.device(), DType::kF32, {1}, 7.0); }

Array single(const Shape& shape, double value, double slack = 0) {
  Array array(shape);
  array[0] = value;
  array.slack.push_back(slack);
  return array;
}

double largest_magnitude(const Array& in) {
  double most = 0;
  for (const double value : in.values) most = std::fmax(most, std::fabs(value));
  return as_float(most);
}

OpCase abs_max_case() {
  return {.op = Op::kAbsMax,
          .inputs = {{uniform(-2, 2)}},
          .shapes = shapes_of_one(),
          .run = call_of_one(ops::abs_max),
          .reference = [](const Arrays& in) { return Arrays{single({}, largest_magnitude(in[0]))}; },
          .results = {as_f32},
          .is_exact = true,
          .has_gradient = false};
}

OpCase abs_max_of_nan_case() {
  OpCase result = abs_max_case();
  result.what = "with NaN and infinity";
  result.inputs = {{coarse()}};
  result.reference = [](const Arrays& in) {
    double most = 0;
    for (const double value : in[0].values) {
      most = std::isnan(value) || std::isnan(most) ? NAN : std::fmax(most, std::fabs(value));
    }
    return Arrays{single({}, most)};
  };
  return result;
}

// Infinity and NaN are left out.
OpCase quantize_scale_case(DType dtype, const char* what) {
  return {.op = Op::kQuantizeScale,
          .what = what,
          .inputs = {{coarse(), DType::kF32}},
          .shapes = shapes_of_one(),
          .run = call_of_one([dtype](const Tensor& amax) { return ops::quantize_scale(amax, dtype); }),
          .reference =
              [dtype](const Arrays& in) {
                float most = 0;
                for (const double value : in[0].values) {
                  if (std::isfinite(value)) most = std::fmax(most, static_cast<float>(std::fabs(value)));
                }
                const float scale = most / static_cast<float>(largest_number(dtype));
                return Arrays{single({}, most > 0 ? static_cast<double>(scale) : 1)};
              },
          .results = {as_f32},
          .is_exact = true,
          .has_gradient = false};
}

template <DType dtype>
DType always(DType) {
  return dtype;
}

// A number as an 8-bit float of `dtype`; the reference of the conversion is tests/nearest_code.h.
template <DType dtype>
double rounded(double value) {
  static NearestCode codes(dtype);
  return std::isnan(value) ? value : codes.value(codes.of(clamped(value, dtype)));
}

// `reach` is the largest input; beyond 448 or 57344 times the scale it saturates.
template <DType dtype>
OpCase quantize_case(const char* what, double reach) {
  return {.op = Op::kQuantize,
          .what = what,
          .inputs = {{uniform(-reach, reach)}, {uniform(0.004, 0.009), DType::kF32}},
          .shapes = {{{0, 3}, {}}, {{1}, {1}}, {{}, {}}, {{7, 5}, {1, 1}}, {{3, 5, 7}, {}}, {{15, 2305}, {1}}},
          .run =
              [](const Tensors& in) {
                const Tensor amax = number_to_write(in[0]);
                return Tensors{ops::quantize(in[0], in[1], dtype, amax), amax};
              },
          .reference =
              [](const Arrays& in) {
                Array out(in[0].shape);
                const auto scale = static_cast<float>(in[1][0]);
                for (int64_t i = 0; i < out.size(); ++i) {
                  out[i] = rounded<dtype>(static_cast<double>(static_cast<float>(in[0][i]) / scale));
                }
                return Arrays{out, single({1}, largest_magnitude(in[0]))};
              },
          .results = {always<dtype>, as_f32},
          .is_exact = true,
          .has_gradient = false};
}

// The sums of a product with the scales in inputs 2 and 3 and the bias in input 4; divided by the scale in input 5.
// Each step after the sum rounds once in FP32.
Arrays scaled_product_of(const Arrays& in, DType dtype) {
  const int64_t rows = in[0].shape[0], inner = in[0].shape[1], columns = in[1].shape[1];
  const double scale = in[2][0] * in[3][0];
  const bool has_scale = in.size() > 5;
  const double divisor = has_scale ? in[5][0] : 1;
  Array out({rows, columns});
  Array amax = single({1}, 0);
  for (int64_t i = 0; i < rows * columns; ++i) {
    Sum sum;
    for (int64_t k = 0; k < inner; ++k) sum.add(in[0][i / columns * inner + k] * in[1][k * columns + i % columns]);
    const double value = scale * sum.value() + in[4][i % columns];
    const double slack = scale * sum.slack_in_order() + 8 * (std::fabs(value) + std::fabs(scale * sum.value()));
    out[i] = size_of(dtype) == 1 ? clamped(value / divisor, dtype) : value / divisor;
    out.slack.push_back(slack / divisor);
    amax[0] = std::fmax(amax[0], std::fabs(value));
    amax.slack[0] = std::fmax(amax.slack[0], slack);
  }
  return {out, amax};
}

// Sizes of whole 16s, of which GPUs multiply 8-bit floats, and others.
std::vector<Shapes> product_shapes(bool has_scale) {
  std::vector<Shapes> result;
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{0, 5, 3},
                                {1, 1, 1},
                                {3, 4, 0},
                                {7, 3, 5},
                                {32, 48, 64},
                                {17, 16, 32},
                                {35, 3, 1001},
                                {301, 129, 7}}) {
    Shapes shapes = {{m, k}, {k, n}, {1}, {}, {n}};
    if (has_scale) shapes.push_back({});
    result.push_back(shapes);
  }
  return result;
}

template <DType a, DType b, DType bias, DType result>
OpCase scaled_matmul_case(const char* what) {
  constexpr bool kHasScale = size_of(result) == 1;
  OpCase of = {.op = Op::kScaledMatmul,
               .what = what,
               .inputs = {{uniform(-2, 2), a},
                          {uniform(-2, 2), b},
                          {uniform(0.5, 2), DType::kF32},
                          {uniform(0.5, 2), DType::kF32},
                          {uniform(-2, 2), bias}},
               .shapes = product_shapes(kHasScale),
               .run =
                   [](const Tensors& in) {
                     ops::ScaledOperands operands = {
                         .scale_a = in[2], .scale_b = in[3], .bias = in[4], .scale_out = {}, .amax = {}};
                     if (kHasScale) operands.scale_out = in[5];
                     operands.amax = number_to_write(in[0]);
                     return Tensors{ops::scaled_matmul(in[0], in[1], operands, result), operands.amax};
                   },
               .reference = [](const Arrays& in) { return scaled_product_of(in, result); },
               .results = {always<result>, as_f32},
               .has_gradient = false};
  if (kHasScale) of.inputs.push_back({uniform(0.01, 0.2), DType::kF32});
  return of;
}

constexpr DType kE4 = DType::kF8E4M3;
constexpr DType kE5 = DType::kF8E5M2;

}  // namespace

std::vector<OpCase> fp8_cases() {
  return {
      abs_max_case(),
      abs_max_of_nan_case(),
      quantize_scale_case(kE4, "of f8e4m3"),
      quantize_scale_case(kE5, "of f8e5m2"),
      quantize_case<kE4>("to f8e4m3", 3),
      quantize_case<kE5>("to f8e5m2", 500),
      scaled_matmul_case<kE4, kE4, DType::kF32, DType::kF32>("to f32"),
      scaled_matmul_case<kE4, kE5, DType::kBF16, DType::kBF16>("of both formats, to bf16"),
      scaled_matmul_case<kE5, kE5, DType::kF16, DType::kF16>("of f8e5m2, to f16"),
      scaled_matmul_case<kE4, kE4, DType::kBF16, kE4>("to f8e4m3"),
      scaled_matmul_case<kE5, kE4, DType::kF32, kE5>("to f8e5m2"),
  };
}

}  // namespace halftone
