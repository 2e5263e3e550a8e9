// Operations that move elements without joining or adding anything.
#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// source(index) is the index in the input of the result's element at `index`.
template <class ShapeOf, class Source>
std::function<Arrays(const Arrays&)> moved(ShapeOf shape_of, Source source) {
  return [=](const Arrays& in) {
    Array out(shape_of(in[0].shape));
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& index) { out[i++] = in[0][source(in[0].shape, index)]; });
    return Arrays{out};
  };
}

// Other shape, elements in unchanged order.
template <class ShapeOf>
std::function<Arrays(const Arrays&)> renamed(ShapeOf shape_of) {
  return [=](const Arrays& in) {
    Array out(shape_of(in[0].shape));
    out.values = in[0].values;
    return Arrays{out};
  };
}

OpCase view_case(Op op, const char* what, std::vector<Shapes> shapes, std::function<Tensor(const Tensor&)> call,
                 std::function<Arrays(const Arrays&)> reference) {
  return {.op = op,
          .what = what,
          .inputs = {{uniform(-2, 2)}},
          .shapes = std::move(shapes),
          .run = call_of_one(std::move(call)),
          .reference = std::move(reference),
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

const std::vector<Shapes> kCubes = {{{0, 3, 2}}, {{1, 1, 1}}, {{3, 5, 7}}, {{15, 1, 2305}}};

OpCase reshape_case() {
  return view_case(
      Op::kReshape, "", kCubes,
      [](const Tensor& x) {
        return ops::reshape(x, {x.size(2), x.size(0) * x.size(1)});
      },
      renamed([](const Shape& in) {
        return Shape{in[2], in[0] * in[1]};
      }));
}

OpCase transpose_case() {
  return view_case(
      Op::kTranspose, "", kCubes, [](const Tensor& x) { return ops::transpose(x, 0, -1); },
      moved(
          [](const Shape& in) {
            return Shape{in[2], in[1], in[0]};
          },
          [](const Shape& in, const Shape& at) {
            return place_of(in, {at[2], at[1], at[0]});
          }));
}

OpCase flip_case() {
  return view_case(
      Op::kFlip, "", kCubes,
      [](const Tensor& x) {
        return ops::flip(x, {2, 0});
      },
      moved([](const Shape& in) { return in; },
            [](const Shape& in, const Shape& at) {
              return place_of(in, {in[0] - 1 - at[0], at[1], in[2] - 1 - at[2]});
            }));
}

OpCase permute_case() {
  return view_case(
      Op::kPermute, "", kCubes,
      [](const Tensor& x) {
        return ops::permute(x, {2, 0, 1});
      },
      moved(
          [](const Shape& in) {
            return Shape{in[2], in[0], in[1]};
          },
          [](const Shape& in, const Shape& at) {
            return place_of(in, {at[1], at[2], at[0]});
          }));
}

// Every second index of the last dimension, beginning at 1.
OpCase slice_case() {
  return view_case(
      Op::kSlice, "", {{{0, 3, 2}}, {{3, 5, 0}}, {{1, 1, 1}}, {{3, 5, 7}}, {{15, 1, 2305}}},
      [](const Tensor& x) { return ops::slice(x, -1, 1, INT64_MAX, 2); },
      moved(
          [](const Shape& in) {
            return Shape{in[0], in[1], in[2] / 2};
          },
          [](const Shape& in, const Shape& at) {
            return place_of(in, {at[0], at[1], 1 + 2 * at[2]});
          }));
}

OpCase unsqueeze_case() {
  return view_case(
      Op::kUnsqueeze, "", kCubes, [](const Tensor& x) { return ops::unsqueeze(x, 1); }, renamed([](const Shape& in) {
        return Shape{in[0], 1, in[1], in[2]};
      }));
}

Shape without_ones(const Shape& in) {
  Shape result;
  for (const int64_t size : in) {
    if (size != 1) result.push_back(size);
  }
  return result;
}

OpCase squeeze_case() {
  return view_case(
      Op::kSqueeze, "", {{{0, 1, 2}}, {{1, 1, 1}}, {{3, 1, 7}}, {{15, 1, 2305}}},
      [](const Tensor& x) { return ops::squeeze(x, {}); }, renamed(without_ones));
}

// [a, 1, c] to [2, a, 3, c]
OpCase broadcast_case() {
  return view_case(
      Op::kBroadcastTo, "", {{{0, 1, 2}}, {{1, 1, 1}}, {{3, 1, 7}}, {{15, 1, 2305}}},
      [](const Tensor& x) {
        return ops::broadcast_to(x, {2, x.size(0), 3, -1});
      },
      moved(
          [](const Shape& in) {
            return Shape{2, in[0], 3, in[2]};
          },
          [](const Shape& in, const Shape& at) {
            return place_of(in, {at[1], 0, at[3]});
          }));
}

OpCase triangle_case(Op op, bool is_lower, int64_t diagonal) {
  OpCase result =
      view_case(op, diagonal > 0 ? "above" : "below", {{{0, 3}}, {{1, 1}}, {{5, 7}}, {{3, 5, 5}}, {{2305, 15}}},
                [=](const Tensor& x) { return is_lower ? ops::tril(x, diagonal) : ops::triu(x, diagonal); }, {});
  result.reference = [=](const Arrays& in) {
    Array out(in[0].shape);
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& at) {
      const int64_t offset = at[at.rank() - 1] - at[at.rank() - 2];
      out[i] = (is_lower ? offset <= diagonal : offset >= diagonal) ? in[0][i] : 0;
      ++i;
    });
    return Arrays{out};
  };
  return result;
}

}  // namespace

std::vector<OpCase> view_cases() {
  return {reshape_case(),
          transpose_case(),
          flip_case(),
          permute_case(),
          slice_case(),
          unsqueeze_case(),
          squeeze_case(),
          broadcast_case(),
          triangle_case(Op::kTril, true, 1),
          triangle_case(Op::kTril, true, -1),
          triangle_case(Op::kTriu, false, 1),
          triangle_case(Op::kTriu, false, -1)};
}

}  // namespace halftone
