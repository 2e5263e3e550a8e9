// Short functions that make common kinds of cases. Used from one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/op_case.h"

namespace halftone {

using UnaryCall = Tensor (*)(const Tensor&);
using BinaryCall = Tensor (*)(const Tensor&, const Tensor&);

// A call with one input and one result.
template <class Call>
std::function<Tensors(const Tensors&)> call_of_one(Call call) {
  return [call](const Tensors& in) { return Tensors{call(in[0])}; };
}
template <class Call>
std::function<Tensors(const Tensors&)> call_of_two(Call call) {
  return [call](const Tensors& in) { return Tensors{call(in[0], in[1])}; };
}

// Shapes of inputs as a reference knows them, for one that was written for more dimensions than an operation needs.
using Reshape = std::function<Shapes(const Shapes&)>;

// The case for other shapes: `reshape` gives those of the reference, and `shape_of_result` takes its result's back.
inline OpCase with_fewer_dimensions(OpCase given, const char* what, std::vector<Shapes> shapes, const Reshape& reshape,
                                    const std::function<Shape(const Shapes&, Shape)>& shape_of_result) {
  OpCase result = given;
  result.what = what;
  result.shapes = std::move(shapes);
  result.reference = [=, reference = given.reference](const Arrays& in) {
    Shapes own;
    for (const Array& array : in) own.push_back(array.shape);
    const Shapes known = reshape(own);
    Arrays inputs = in;
    for (size_t i = 0; i < in.size(); ++i) inputs[i].shape = known[i];
    Arrays out = reference(inputs);
    out[0].shape = shape_of_result(own, out[0].shape);
    return out;
  };
  return result;
}

// One image, whose reference is that of a batch of 1.
inline OpCase of_one_image(OpCase given, std::vector<Shapes> shapes) {
  const Reshape batch = [](Shapes in) {
    Shape image = {1};
    for (const int64_t size : in[0]) image.push_back(size);
    in[0] = image;
    return in;
  };
  return with_fewer_dimensions(std::move(given), "of one image", std::move(shapes), batch,
                               [](const Shapes&, const Shape& out) { return Shape(out.begin() + 1, out.rank() - 1); });
}

inline DType as_byte(DType) { return DType::kU8; }

// Images of u8, which are rounded to the nearest number, of two to the larger one. No place may be so near to the
// middle of two that FP32 does not tell on which side it is.
inline OpCase of_bytes(OpCase given, std::vector<Shapes> shapes) {
  given.what = "of bytes";
  given.inputs = {
      {[](std::mt19937& random, const Shapes&, int64_t) { return static_cast<double>(random() % 256); }, DType::kU8}};
  given.shapes = std::move(shapes);
  given.results = {as_byte};
  given.is_exact = true;
  given.reference = [of_floats = given.reference](const Arrays& in) {
    Arrays out = of_floats(in);
    for (double& value : out[0].values) value = std::min(std::max(std::floor(value + 0.5), 0.0), 255.0);
    out[0].slack.clear();
    return out;
  };
  return given;
}

// function(x) for every element. `slack_of(x, function(x))` gives the error bound if it is larger than that of one
// function.
template <class Function>
std::function<Arrays(const Arrays&)> each(Function function) {
  return [function](const Arrays& in) {
    Array out(in[0].shape);
    for (int64_t i = 0; i < out.size(); ++i) out[i] = function(in[0][i]);
    return Arrays{out};
  };
}
template <class Function, class Slack>
std::function<Arrays(const Arrays&)> each(Function function, Slack slack_of) {
  return [function, slack_of](const Arrays& in) {
    Array out(in[0].shape);
    for (int64_t i = 0; i < out.size(); ++i) {
      out[i] = function(in[0][i]);
      out.slack.push_back(slack_of(in[0][i], out[i]));
    }
    return Arrays{out};
  };
}

// The shape that two shapes broadcast to.
inline Shape joined(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int i = 1; i <= shorter.rank(); ++i) {
    int64_t& size = result[longer.rank() - i];
    if (size == 1) size = shorter[shorter.rank() - i];
  }
  return result;
}

// function(a, b) for every pair of elements after broadcasting.
template <class Function>
std::function<Arrays(const Arrays&)> each_pair(Function function) {
  return [function](const Arrays& in) {
    const Array &a = in[0], &b = in[1];
    Array out(joined(a.shape, b.shape));
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& index) {
      out[i++] = function(a[repeated_place_of(a.shape, index)], b[repeated_place_of(b.shape, index)]);
    });
    return Arrays{out};
  };
}

// The case for values with ties, NaN and infinities, where finite differences see no gradient.
inline OpCase with_special_values(OpCase given) {
  for (OpInput& input : given.inputs) {
    if (input.dtype == DType{}) input.draw = coarse();
  }
  given.what = "with NaN and infinity";
  given.dtypes = Dtypes::kFloats;
  given.has_gradient = false;
  return given;
}

// One input in different sizes: empty, one element, odd, more than two chunks, and the most dimensions.
inline std::vector<Shapes> shapes_of_one() {
  return {{{0, 3}}, {{1}}, {{}}, {{7, 5}}, {{3, 5, 7}}, {{2, 1, 3, 1, 1, 5, 1, 3}}, {{15, 2305}}};
}
// Two inputs in different sizes, and with shapes that broadcast in one or both directions.
inline std::vector<Shapes> shapes_of_two() {
  return {{{0, 3}, {0, 3}},     {{1}, {1}},    {{7, 5}, {7, 5}},
          {{7, 1}, {2, 1, 5}},  {{}, {7, 5}},  {{2, 1, 3, 1, 1, 5, 1, 3}, {1, 2, 1, 1, 3, 1, 1, 1}},
          {{3, 7, 5}, {5}},     {{0, 3}, {3}}, {{15, 2305}, {15, 2305}},
          {{15, 2305}, {15, 1}}};
}
inline std::vector<Shapes> shapes_of_three() {
  return {{{0, 3}, {0, 3}, {0, 3}}, {{1}, {1}, {1}},      {{7, 5}, {7, 5}, {7, 5}},
          {{5}, {2, 1, 1}, {3, 1}}, {{7, 1}, {}, {7, 5}}, {{15, 2305}, {15, 2305}, {15, 2305}}};
}

}  // namespace halftone
