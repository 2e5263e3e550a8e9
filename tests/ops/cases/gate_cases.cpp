// Activations with a weight or a gate.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// Element i of dimension 1 has the weight i, or all have the one weight.
Arrays prelu_reference(const Arrays& in) {
  const Array &x = in[0], &weight = in[1];
  Array out(x.shape);
  int64_t i = 0;
  for_each_index(x.shape, [&](const Shape& index) {
    const double factor = weight[weight.size() == 1 ? 0 : index[1]];
    out[i] = x[i] > 0 ? x[i] : factor * x[i];
    ++i;
  });
  return {out};
}

OpCase prelu_case() {
  return {.op = Op::kPrelu,
          .inputs = {{distinct()}, {uniform(0.25, 0.5)}},
          .shapes = {{{0, 3}, {3}},
                     {{1}, {1}},
                     {{}, {}},
                     {{7, 5}, {5}},
                     {{3, 5, 7}, {5}},
                     {{3, 5, 7}, {1}},
                     {{2, 3, 2, 1, 2}, {3}},
                     {{15, 2305}, {2305}}},
          .run = call_of_two(ops::prelu),
          .reference = prelu_reference};
}

// [outer, 2, inner] to [outer, inner]
OpCase glu_case(const char* what, int64_t dim, std::vector<Shapes> shapes) {
  OpCase result = {.op = Op::kGlu, .what = what, .inputs = {{uniform(-2, 2)}}, .shapes = std::move(shapes)};
  result.run = call_of_one([dim](const Tensor& x) { return ops::glu(x, dim); });
  result.reference = [dim](const Arrays& in) {
    const int along = static_cast<int>(dim < 0 ? dim + in[0].shape.rank() : dim);
    Shape shape = in[0].shape;
    shape[along] /= 2;
    Array out(shape);
    int64_t i = 0;
    for_each_index(shape, [&](const Shape& index) {
      Shape gate = index;
      gate[along] += shape[along];
      out[i++] =
          in[0][repeated_place_of(in[0].shape, index)] / (1 + std::exp(-in[0][repeated_place_of(in[0].shape, gate)]));
    });
    return Arrays{out};
  };
  return result;
}

}  // namespace

std::vector<OpCase> gate_cases() {
  return {prelu_case(), glu_case("along the last dimension", -1, {{{0, 4}}, {{3, 0}}, {{2}}, {{7, 6}}, {{15, 4610}}}),
          glu_case("along the first dimension", 0, {{{2, 1}}, {{2, 3, 5}}, {{10, 7}}})};
}

}  // namespace halftone
