// Operations that read and write by index.
#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const OpInput kInput = {uniform(-2, 2)};

// The result's element at `index` comes from the same index of the input, except in dimension `dim`.
OpCase gather_case(int dim, std::vector<Shapes> shapes) {
  return {.op = Op::kGather,
          .what = dim == 0 ? "along the first dimension" : "along the second dimension",
          .inputs = {kInput, index_input(0, dim)},
          .shapes = std::move(shapes),
          .run = call_of_two([=](const Tensor& x, const Tensor& index) { return ops::gather(x, dim, index); }),
          .reference =
              [=](const Arrays& in) {
                Array out(in[1].shape);
                int64_t i = 0;
                for_each_index(out.shape, [&](Shape at) {
                  at[dim] = static_cast<int64_t>(in[1][i]);
                  out[i++] = in[0][place_of(in[0].shape, at)];
                });
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

Arrays scatter_sums(const Arrays& in, int dim) {
  std::vector<Sum> sums(in[0].values.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i].add(in[0].values[i]);
  int64_t i = 0;
  for_each_index(in[1].shape, [&](Shape at) {
    const double term = in[2][place_of(in[2].shape, at)];
    at[dim] = static_cast<int64_t>(in[1][i++]);
    sums[static_cast<size_t>(place_of(in[0].shape, at))].add(term);
  });
  Array out(in[0].shape);
  for (int64_t k = 0; k < out.size(); ++k) {
    out[k] = sums[static_cast<size_t>(k)].value();
    out.slack.push_back(sums[static_cast<size_t>(k)].slack_in_order());
  }
  return {out};
}

OpCase scatter_case(int dim, std::vector<Shapes> shapes) {
  return {.op = Op::kScatterAdd,
          .what = dim == 0 ? "along the first dimension" : "along the second dimension",
          .inputs = {kInput, index_input(0, dim), kInput},
          .shapes = std::move(shapes),
          .run = [=](const Tensors& in) { return Tensors{ops::scatter_add(in[0], dim, in[1], in[2])}; },
          .reference = [=](const Arrays& in) { return scatter_sums(in, dim); },
          .dtypes = Dtypes::kSigned};
}

// One index vector selects whole lines.
OpCase select_case(const char* what, const OpInput& indices) {
  return {.op = Op::kIndexSelect,
          .what = what,
          .inputs = {kInput, indices},
          .shapes = {{{0, 3, 2}, {4}}, {{2, 3, 1}, {0}}, {{1, 1, 1}, {1}}, {{3, 5, 7}, {9}}, {{15, 2305, 1}, {1001}}},
          .run = call_of_two([](const Tensor& x, const Tensor& index) { return ops::index_select(x, 1, index); }),
          .reference =
              [](const Arrays& in) {
                Array out({in[0].shape[0], in[1].shape[0], in[0].shape[2]});
                int64_t i = 0;
                for_each_index(out.shape, [&](Shape at) {
                  at[1] = static_cast<int64_t>(in[1][at[1]]);
                  out[i++] = in[0][place_of(in[0].shape, at)];
                });
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

OpCase embedding_case() {
  return {
      .op = Op::kEmbedding,
      .inputs = {kInput, index_input(0, 0)},
      .shapes = {{{3, 5}, {0}}, {{1, 1}, {1}}, {{7, 5}, {3, 3}}, {{15, 2305}, {17}}, {{2305, 15}, {101, 31}}},
      .run = call_of_two([](const Tensor& weight, const Tensor& index) { return ops::embedding(weight, index, -1); }),
      .reference =
          [](const Arrays& in) {
            Shape shape = in[1].shape;
            const int64_t columns = in[0].shape[1];
            shape.push_back(columns);
            Array out(shape);
            for (int64_t i = 0; i < out.size(); ++i) {
              out[i] = in[0][static_cast<int64_t>(in[1][i / columns]) * columns + i % columns];
            }
            return Arrays{out};
          },
      .is_exact = true};
}

// The row of the padding has a gradient of 0 although results depend on it, so finite differences see another one. The
// rows have fewer elements than a warp of a GPU has lanes, or more.
OpCase padded_embedding_case() {
  OpCase result = embedding_case();
  result.what = "with a padding row";
  result.shapes = {{{2, 5}, {3, 3}}, {{2, 35}, {9}}};
  result.run = call_of_two([](const Tensor& weight, const Tensor& index) { return ops::embedding(weight, index, 1); });
  result.has_gradient = false;
  return result;
}

OpCase masked_fill_case() {
  return {.op = Op::kMaskedFill,
          .inputs = {kInput, mask_input()},
          .shapes = shapes_of_two(),
          .run = call_of_two([](const Tensor& x, const Tensor& mask) { return ops::masked_fill(x, mask, 1); }),
          .reference = each_pair([](double x, double is_filled) { return is_filled != 0 ? 1 : x; }),
          .dtypes = Dtypes::kNumbers,
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> index_cases() {
  return {
      gather_case(0, {{{3, 2}, {0, 2}}, {{1}, {1}}, {{7, 5}, {9, 5}}, {{5, 3, 7}, {3, 2, 7}}}),
      gather_case(
          1, {{{3, 2}, {3, 0}}, {{7, 5}, {7, 9}}, {{5, 9}, {3, 4}}, {{2, 5, 3}, {2, 4, 3}}, {{15, 2305}, {15, 2305}}}),
      scatter_case(0, {{{3, 2}, {0, 2}, {0, 2}}, {{1}, {1}, {1}}, {{7, 5}, {9, 5}, {9, 5}}}),
      scatter_case(1, {{{0, 3}, {0, 2}, {0, 2}},
                       {{7, 5}, {7, 9}, {7, 9}},
                       {{5, 9}, {3, 4}, {4, 4}},
                       {{2, 4, 3}, {2, 5, 3}, {2, 5, 3}},
                       {{15, 2305}, {15, 2305}, {15, 2305}}}),
      select_case("by i64", index_input(0, 1)),
      select_case("by i32", narrow_index_input(0, 1)),
      embedding_case(),
      padded_embedding_case(),
      masked_fill_case(),
  };
}

}  // namespace halftone
