// Joins of several tensors, parts of one, padding, conversions.
#include <cmath>

#include "calls.h"
#include "nearest_code.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const OpInput kInput = {uniform(-2, 2)};

// Copies `part` into `whole`, beginning at index `start`.
void place(const Array& part, const Shape& start, Array& whole) {
  int64_t i = 0;
  for_each_index(part.shape, [&](Shape index) {
    for (int d = 0; d < index.rank(); ++d) index[d] += start[d];
    whole[place_of(whole.shape, index)] = part[i++];
  });
}

Arrays joined_along(const Arrays& in, int dim) {
  Shape shape = in[0].shape;
  shape[dim] = 0;
  for (const Array& part : in) shape[dim] += part.shape[dim];
  Array whole(shape);
  Shape start;
  for (int d = 0; d < shape.rank(); ++d) start.push_back(0);
  for (const Array& part : in) {
    place(part, start, whole);
    start[dim] += part.shape[dim];
  }
  return {whole};
}

OpCase cat_case(const char* what, int dim, std::vector<Shapes> shapes) {
  return {.op = Op::kCat,
          .what = what,
          .inputs = {kInput, kInput, kInput},
          .shapes = std::move(shapes),
          .run = [dim](const Tensors& in) { return Tensors{ops::cat(in, dim)}; },
          .reference = [dim](const Arrays& in) { return joined_along(in, dim); },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

// One input in two places.
OpCase repeated_cat_case() {
  return {.op = Op::kCat,
          .what = "with an input in two places",
          .inputs = {kInput, kInput},
          .shapes = {{{3, 2}, {3, 5}}},
          .run =
              [](const Tensors& in) {
                return Tensors{ops::cat({in[0], in[1], in[0]}, 1)};
              },
          .reference =
              [](const Arrays& in) {
                return joined_along({in[0], in[1], in[0]}, 1);
              }};
}

OpCase stack_case() {
  return {.op = Op::kStack,
          .inputs = {kInput, kInput, kInput},
          .shapes = {{{0, 3}, {0, 3}, {0, 3}},
                     {{1}, {1}, {1}},
                     {{7, 5}, {7, 5}, {7, 5}},
                     {{15, 2305}, {15, 2305}, {15, 2305}}},
          .run = [](const Tensors& in) { return Tensors{ops::stack(in, 1)}; },
          .reference =
              [](const Arrays& in) {
                Arrays layers = in;
                for (Array& layer : layers) {
                  const Shape shape = layer.shape;
                  layer.shape = {shape[0], 1};
                  for (int d = 1; d < shape.rank(); ++d) layer.shape.push_back(shape[d]);
                }
                return joined_along(layers, 1);
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

// Sizes 1, 0 and the rest of the last dimension.
OpCase split_case() {
  const auto sizes_of = [](int64_t size) { return std::vector<int64_t>{1, 0, size - 1}; };
  return {.op = Op::kSplit,
          .inputs = {kInput},
          .shapes = {{{0, 3}}, {{1}}, {{7, 5}}, {{3, 5, 7}}, {{15, 2305}}},
          .run = [=](const Tensors& in) { return ops::split(in[0], -1, sizes_of(in[0].size(in[0].rank() - 1))); },
          .reference =
              [=](const Arrays& in) {
                const int last = in[0].shape.rank() - 1;
                Arrays parts;
                int64_t start = 0;
                for (const int64_t size : sizes_of(in[0].shape[last])) {
                  Shape shape = in[0].shape;
                  shape[last] = size;
                  Array part(shape);
                  int64_t i = 0;
                  for_each_index(shape, [&](Shape index) {
                    index[last] += start;
                    part[i++] = in[0][place_of(in[0].shape, index)];
                  });
                  parts.push_back(part);
                  start += size;
                }
                return parts;
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

// Adds two rows at the front and drops one at the end; drops one column at the front and adds three at the end.
OpCase pad_case() {
  return {.op = Op::kPad,
          .inputs = {kInput},
          .shapes = {{{1, 0}}, {{1, 1}}, {{7, 5}}, {{15, 2305}}},
          .run = call_of_one([](const Tensor& x) {
            return ops::pad(x, {.before = {2, -1}, .after = {-1, 3}}, 1);
          }),
          .reference =
              [](const Arrays& in) {
                const Shape& shape = in[0].shape;
                Array out({shape[0] + 1, shape[1] + 2});
                int64_t i = 0;
                for_each_index(out.shape, [&](const Shape& at) {
                  const int64_t row = at[0] - 2, column = at[1] + 1;
                  const bool is_inside = row >= 0 && row < shape[0] && column < shape[1];
                  out[i++] = is_inside ? in[0][place_of(shape, {row, column})] : 1;
                });
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

double identity(double x) { return x; }
double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }
double truncated(double x) { return std::trunc(x); }
double truth(double x) { return x != 0 ? 1 : 0; }

template <DType dtype>
double nearest(double x) {
  static NearestCode codes(dtype);
  return codes.value(codes.of(x));
}

template <DType dtype>
DType always(DType) {
  return dtype;
}

template <DType dtype>
OpCase cast_case(const char* what, double (*function)(double), bool has_gradient) {
  return {.op = Op::kCast,
          .what = what,
          .inputs = {kInput},
          .shapes = shapes_of_one(),
          .run = call_of_one([](const Tensor& x) { return ops::cast(x, dtype); }),
          .reference =
              [=](const Arrays& in) {
                Array out = in[0];
                for (double& value : out.values) value = function(value);
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .results = {always<dtype>},
          .is_exact = true,
          .has_gradient = has_gradient};
}

}  // namespace

std::vector<OpCase> join_cases() {
  return {
      cat_case("along the first dimension", 0, {{{0, 3}, {2, 3}, {1, 3}}, {{1}, {1}, {1}}, {{7, 5}, {1, 5}, {3, 5}}}),
      cat_case("along the last dimension", 1,
               {{{3, 0}, {3, 2}, {3, 1}}, {{7, 5}, {7, 1}, {7, 3}}, {{15, 2305}, {15, 3}, {15, 64}}}),
      repeated_cat_case(),
      stack_case(),
      split_case(),
      pad_case(),
      cast_case<DType::kF64>("to f64", identity, true),
      cast_case<DType::kF32>("to f32", as_float, false),
      cast_case<DType::kF16>("to f16", nearest<DType::kF16>, false),
      cast_case<DType::kBF16>("to bf16", nearest<DType::kBF16>, false),
      cast_case<DType::kF8E4M3>("to f8e4m3", nearest<DType::kF8E4M3>, false),
      cast_case<DType::kI32>("to i32", truncated, false),
      cast_case<DType::kBool>("to bool", truth, false),
  };
}

}  // namespace halftone
