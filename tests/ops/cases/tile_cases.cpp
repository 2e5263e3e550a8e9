// Repeated and rotated tensors.
#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const std::vector<Shapes> kCubes = {{{0, 3, 2}}, {{1, 1, 1}}, {{3, 5, 7}}, {{15, 1, 2305}}};

OpCase moving_case(Op op, const char* what, std::function<Tensor(const Tensor&)> call) {
  return {.op = op,
          .what = what,
          .inputs = {{uniform(-2, 2)}},
          .shapes = kCubes,
          .run = call_of_one(std::move(call)),
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

// [a, b, c] to [2, a, 3 b, 2 c]
OpCase tile_case() {
  OpCase result = moving_case(Op::kTile, "in front, in the middle and behind", [](const Tensor& x) {
    return ops::tile(x, {2, 1, 3, 2});
  });
  result.reference = [](const Arrays& in) {
    const Shape& shape = in[0].shape;
    Array out({2, shape[0], 3 * shape[1], 2 * shape[2]});
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& at) {
      out[i++] = in[0][place_of(shape, {at[1], at[2] % shape[1], at[3] % shape[2]})];
    });
    return Arrays{out};
  };
  return result;
}

OpCase none_case() {
  OpCase result = moving_case(Op::kTile, "no times", [](const Tensor& x) { return ops::tile(x, {0, 2}); });
  result.reference = [](const Arrays& in) { return Arrays{Array({in[0].shape[0], 0, 2 * in[0].shape[2]})}; };
  return result;
}

OpCase roll_case() {
  OpCase result = moving_case(Op::kRoll, "", [](const Tensor& x) { return ops::roll(x, {0, -1}, {4, -2}); });
  result.reference = [](const Arrays& in) {
    const Shape& shape = in[0].shape;
    Array out(shape);
    int64_t i = 0;
    for_each_index(shape, [&](const Shape& at) {
      const int64_t row = (at[0] + 4 * shape[0] - 4) % shape[0];
      out[i++] = in[0][place_of(shape, {row, at[1], (at[2] + 2) % shape[2]})];
    });
    return Arrays{out};
  };
  return result;
}

}  // namespace

std::vector<OpCase> tile_cases() { return {tile_case(), none_case(), roll_case()}; }

}  // namespace halftone
