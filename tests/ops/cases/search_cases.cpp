// Places of values in sorted tensors, counts of values, repeated elements, diagonals and grids.
#include <algorithm>
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const OpInput kInput = {uniform(-2, 2)};

// Eight numbers along the last dimension, ascending and each several times.
Draw steps() {
  return [](std::mt19937&, const Shapes& shapes, int64_t i) {
    const int64_t columns = shapes[0][shapes[0].rank() - 1];
    return static_cast<double>(i % columns * 8 / columns);
  };
}

// Whole numbers in [0, count), of which some are missing.
OpInput whole(uint32_t count, DType dtype) {
  return {[count](std::mt19937& random, const Shapes&, int64_t) { return static_cast<double>(random() % count); },
          dtype};
}

OpCase search_case(const char* what, bool right, std::vector<Shapes> shapes) {
  return {
      .op = Op::kSearchsorted,
      .what = what,
      .inputs = {{steps()}, {uniform(-2, 10)}},
      .shapes = std::move(shapes),
      .run = call_of_two([=](const Tensor& sorted, const Tensor& x) { return ops::searchsorted(sorted, x, right); }),
      .reference =
          [=](const Arrays& in) {
            const Shape& sorted = in[0].shape;
            const int64_t count = sorted[sorted.rank() - 1];
            const int64_t columns = sorted.rank() == 1 ? in[1].size() : in[1].shape[sorted.rank() - 1];
            Array out(in[1].shape);
            for (int64_t i = 0; i < out.size(); ++i) {
              const auto first = in[0].values.begin() + i / columns * count;
              out[i] = static_cast<double>(std::count_if(
                  first, first + count, [&](double x) { return x < in[1][i] || (right && x == in[1][i]); }));
            }
            return Arrays{out};
          },
      .dtypes = Dtypes::kArithmetic,
      .results = {as_index},
      .is_exact = true};
}

OpCase isin_case() {
  return {.op = Op::kIsin,
          .what = "with NaN",
          .inputs = {{coarse()}, {coarse()}},
          .shapes = {{{0, 3}, {2}}, {{3}, {0}}, {{1}, {1}}, {{7, 5}, {2, 3}}, {{}, {5}}, {{15, 2305}, {3}}},
          .run = call_of_two(ops::isin),
          .reference =
              [](const Arrays& in) {
                Array out(in[0].shape);
                for (int64_t i = 0; i < out.size(); ++i) {
                  const auto& set = in[1].values;
                  out[i] = std::find(set.begin(), set.end(), in[0][i]) == set.end() ? 0 : 1;
                }
                return Arrays{out};
              },
          .results = {as_bool},
          .is_exact = true};
}

// The least number of bins: above the numbers of small inputs.
constexpr int64_t kBins = 5;

Arrays counts(const Array& numbers, const Array* weights) {
  double largest = kBins - 1;
  for (const double number : numbers.values) largest = std::max(largest, number);
  std::vector<Sum> bins(static_cast<size_t>(largest) + 1);
  for (int64_t i = 0; i < numbers.size(); ++i) {
    bins[static_cast<size_t>(numbers[i])].add(weights == nullptr ? 1 : (*weights)[i]);
  }
  Array out({static_cast<int64_t>(bins.size())});
  for (int64_t i = 0; i < out.size(); ++i) {
    out[i] = bins[static_cast<size_t>(i)].value();
    out.slack.push_back(bins[static_cast<size_t>(i)].slack_in_order());
  }
  return {out};
}

std::vector<OpCase> bincount_cases() {
  const OpCase plain = {.op = Op::kBincount,
                        .what = "of i32",
                        .inputs = {whole(3, DType::kI32)},
                        .shapes = {{{0}}, {{1}}, {{7}}},
                        .run = call_of_one([](const Tensor& x) { return ops::bincount(x, {}, kBins); }),
                        .reference = [](const Arrays& in) { return counts(in[0], nullptr); },
                        .results = {as_index},
                        .is_exact = true};
  const OpCase weighted = {
      .op = Op::kBincount,
      .what = "with weights",
      .inputs = {whole(101, DType::kI64), kInput},
      .shapes = {{{0}, {0}}, {{1}, {1}}, {{35}, {35}}, {{34575}, {34575}}},
      .run = call_of_two([](const Tensor& x, const Tensor& weights) { return ops::bincount(x, weights, kBins); }),
      .reference = [](const Arrays& in) { return counts(in[0], &in[1]); }};
  return {plain, weighted};
}

// The result's element at an index is that of the input with index[dim] mapped by source_of(in, index[dim]).
template <class SourceOf>
Array mapped(const Array& input, int dim, int64_t size, const SourceOf& source_of) {
  Shape shape = input.shape;
  shape[dim] = size;
  Array out(shape);
  int64_t i = 0;
  for_each_index(shape, [&](Shape at) {
    at[dim] = source_of(at[dim]);
    out[i++] = input[place_of(input.shape, at)];
  });
  return out;
}

OpCase repeat_case(int dim, int64_t count) {
  return {.op = Op::kRepeatInterleave,
          .what = dim == 0 ? "along the first dimension" : "along the middle dimension",
          .inputs = {kInput},
          .shapes = {{{0, 3, 2}}, {{1, 1, 1}}, {{3, 5, 7}}, {{15, 1, 2305}}},
          .run = call_of_one([=](const Tensor& x) { return ops::repeat_interleave(x, count, dim); }),
          .reference =
              [=](const Arrays& in) {
                return Arrays{mapped(in[0], dim, in[0].shape[dim] * count, [=](int64_t i) { return i / count; })};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

OpCase repeat_counts_case() {
  return {.op = Op::kRepeatInterleaveCounts,
          .inputs = {kInput, whole(4, DType::kI64)},
          .shapes = {{{3, 0, 2}, {0}}, {{1, 1, 1}, {1}}, {{3, 5, 7}, {5}}, {{15, 2305, 1}, {2305}}},
          .run = call_of_two(
              [](const Tensor& x, const Tensor& count) { return ops::repeat_interleave_counts(x, count, 1); }),
          .reference =
              [](const Arrays& in) {
                std::vector<int64_t> sources;
                for (int64_t i = 0; i < in[1].size(); ++i)
                  sources.insert(sources.end(), static_cast<size_t>(in[1][i]), i);
                return Arrays{mapped(in[0], 1, static_cast<int64_t>(sources.size()),
                                     [&](int64_t i) { return sources[static_cast<size_t>(i)]; })};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

OpCase diag_case(const char* what, int64_t diagonal, std::vector<Shapes> shapes,
                 const std::function<Array(const Array&)>& reference) {
  return {.op = Op::kDiag,
          .what = what,
          .inputs = {kInput},
          .shapes = std::move(shapes),
          .run = call_of_one([=](const Tensor& x) { return ops::diag(x, diagonal); }),
          .reference = [=](const Arrays& in) { return Arrays{reference(in[0])}; },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

Array diagonal_of(const Array& in, int64_t diagonal) {
  std::vector<double> values;
  for (int64_t row = 0; row < in.shape[0]; ++row) {
    const int64_t column = row + diagonal;
    if (column >= 0 && column < in.shape[1]) values.push_back(in[row * in.shape[1] + column]);
  }
  Array out({static_cast<int64_t>(values.size())});
  out.values = values;
  return out;
}

Array with_diagonal(const Array& in, int64_t diagonal) {
  const int64_t size = in.size() + std::abs(diagonal);
  Array out({size, size});
  for (int64_t i = 0; i < in.size(); ++i) {
    const int64_t row = i + std::max<int64_t>(-diagonal, 0), column = i + std::max<int64_t>(diagonal, 0);
    out[row * size + column] = in[i];
  }
  return out;
}

std::vector<OpCase> diag_cases() {
  const std::vector<Shapes> matrices = {{{0, 3}}, {{1, 1}}, {{7, 5}}, {{5, 7}}, {{15, 2305}}};
  const std::vector<Shapes> vectors = {{{0}}, {{1}}, {{7}}};
  std::vector<OpCase> cases;
  for (const int64_t diagonal : {0, 2, -3}) {
    const char* const what = diagonal == 0 ? "the main diagonal" : diagonal > 0 ? "above it" : "below it";
    cases.push_back(diag_case(what, diagonal, matrices, [=](const Array& in) { return diagonal_of(in, diagonal); }));
    cases.push_back(diag_case(what, diagonal, vectors, [=](const Array& in) { return with_diagonal(in, diagonal); }));
  }
  return cases;
}

OpCase meshgrid_case(bool xy) {
  return {.op = Op::kMeshgrid,
          .what = xy ? "xy" : "ij",
          .inputs = {kInput, kInput, kInput},
          .shapes = {{{0}, {3}, {2}}, {{1}, {}, {1}}, {{5}, {3}, {2}}, {{34575}, {2}, {}}},
          .run = [=](const Tensors& in) { return ops::meshgrid(in, xy); },
          .reference =
              [=](const Arrays& in) {
                const int dims[] = {xy ? 1 : 0, xy ? 0 : 1, 2};
                Shape shape = {0, 0, 0};
                for (size_t i = 0; i < 3; ++i) shape[dims[i]] = in[i].size();
                Arrays out;
                for (size_t i = 0; i < 3; ++i) {
                  Array grid(shape);
                  int64_t place = 0;
                  for_each_index(shape, [&](const Shape& at) { grid[place++] = in[i][at[dims[i]]]; });
                  out.push_back(grid);
                }
                return out;
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> search_cases() {
  std::vector<OpCase> cases = {
      search_case("rows in rows", false, {{{0, 3}, {0, 2}}, {{1, 1}, {1, 1}}, {{7, 5}, {7, 3}}, {{15, 2305}, {15, 7}}}),
      search_case("behind equal elements", true, {{{5}, {3, 4}}, {{1}, {}}, {{0}, {3}}, {{9}, {15, 2305}}}),
      isin_case(),
      repeat_case(0, 3),
      repeat_case(1, 2),
      repeat_counts_case(),
      meshgrid_case(false),
      meshgrid_case(true)};
  for (const auto part : {bincount_cases, diag_cases}) {
    for (OpCase& op_case : part()) cases.push_back(op_case);
  }
  return cases;
}

}  // namespace halftone
