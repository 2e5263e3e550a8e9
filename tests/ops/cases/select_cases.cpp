// Operations that choose elements: by order, by chance, or because they are not 0.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calls.h"
#include "core/philox.h"
#include "ops/ops.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone {

namespace {

// True if `a` is before `b`. NaN counts as the largest.
bool is_before(double a, double b, bool descending) {
  if (descending) std::swap(a, b);
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

struct Choice {
  int dim;
  bool descending;
  int64_t count = -1;  // -1: all
  bool sorted = true;
};

// The indices of the chosen elements of a line, as a stable sort gives them.
std::vector<int64_t> chosen(const std::vector<double>& line, const Choice& choice) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return is_before(line[static_cast<size_t>(a)], line[static_cast<size_t>(b)], choice.descending);
  });
  if (choice.count >= 0) order.resize(static_cast<size_t>(choice.count));
  if (!choice.sorted) std::sort(order.begin(), order.end());
  return order;
}

Arrays chosen_along(const Array& in, const Choice& choice) {
  Shape shape = in.shape, firsts = in.shape;
  const int64_t size = in.shape[choice.dim];
  if (choice.count >= 0) shape[choice.dim] = choice.count;
  firsts[choice.dim] = 1;
  Array values(shape), indices(shape);
  for_each_index(firsts, [&](Shape at) {
    std::vector<double> line;
    for (at[choice.dim] = 0; at[choice.dim] < size; ++at[choice.dim]) line.push_back(in[place_of(in.shape, at)]);
    const std::vector<int64_t> order = chosen(line, choice);
    for (size_t k = 0; k < order.size(); ++k) {
      at[choice.dim] = static_cast<int64_t>(k);
      values[place_of(shape, at)] = line[static_cast<size_t>(order[k])];
      indices[place_of(shape, at)] = static_cast<double>(order[k]);
    }
  });
  return {values, indices};
}

Tensors both(const ops::ValuesAndIndices& result) { return {result.values, result.indices}; }

// Along which no two elements of `distinct` are equal.
std::vector<Shapes> shapes_to_sort(int dim) {
  if (dim == 0) return {{{0, 3}}, {{1, 1}}, {{7, 5}}, {{3, 5, 7}}, {{15, 2305}}};
  return {{{3, 0}}, {{1, 1}}, {{7, 5}}, {{3, 5, 7}}, {{2305, 15}}};
}

OpCase sort_case(const char* what, const Choice& choice) {
  return {.op = Op::kSort,
          .what = what,
          .inputs = {{distinct()}},
          .shapes = shapes_to_sort(choice.dim),
          .run = [=](const Tensors& in) { return both(ops::sort(in[0], choice.dim, choice.descending)); },
          .reference = [=](const Arrays& in) { return chosen_along(in[0], choice); },
          .dtypes = Dtypes::kArithmetic,
          .results = {same, as_index},
          .is_exact = true};
}

// Equal elements, infinities and NaN; a long line.
OpCase tied(OpCase result, int dim) {
  result.what = dim == 0 ? "of equal elements along the first dimension" : "of equal elements along the last dimension";
  result.inputs = {{coarse()}};
  result.dtypes = Dtypes::kFloats;
  result.shapes = {{{7, 5}}, {{15, 2305}}};
  result.has_gradient = false;
  return result;
}

OpCase argsort_case(OpCase result, const Choice& choice) {
  result.op = Op::kArgsort;
  result.run = [=](const Tensors& in) { return Tensors{ops::argsort(in[0], choice.dim, choice.descending)}; };
  result.reference = [=](const Arrays& in) { return Arrays{chosen_along(in[0], choice)[1]}; };
  result.results = {as_index};
  return result;
}

OpCase topk_case(const char* what, const Choice& choice) {
  OpCase result = sort_case(what, choice);
  result.op = Op::kTopk;
  result.run = [=](const Tensors& in) {
    return both(ops::topk(in[0], choice.count, choice.dim, choice.descending, choice.sorted));
  };
  return result;
}

constexpr uint64_t kDraws = 9;  // the sequence

int64_t samples_of(const Shape& shape, bool replaces) {
  const int64_t categories = shape[shape.rank() - 1];
  return replaces ? categories + 2 : std::min<int64_t>(categories, 5);
}

// The category in which `place` falls when the weights are laid end to end.
size_t category_at(const std::vector<double>& weights, double place) {
  size_t category = 0;
  while (category + 1 < weights.size() && place >= weights[category]) place -= weights[category++];
  while (weights[category] == 0) --category;
  return category;
}

double share_of_draw(int64_t draw) {
  const PhiloxBlock block = philox({.seed = kRoomSeed, .sequence = kDraws}, static_cast<uint64_t>(draw / 2));
  const size_t half = static_cast<size_t>(draw % 2) * 2;
  return static_cast<double>((uint64_t{block[half + 1]} << 32 | block[half]) >> 11) / 0x1p53;
}

Arrays drawn(const Array& in, bool replaces) {
  Shape shape = in.shape;
  const int64_t categories = shape[shape.rank() - 1], samples = samples_of(shape, replaces);
  shape[shape.rank() - 1] = samples;
  Array out(shape);
  for (int64_t row = 0; row < out.size() / samples; ++row) {
    const auto first = in.values.begin() + row * categories;
    std::vector<double> weights(first, first + categories);
    for (int64_t i = row * samples; i < (row + 1) * samples; ++i) {
      const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      const size_t category = category_at(weights, share_of_draw(i) * total);
      out[i] = static_cast<double>(category);
      if (!replaces) weights[category] = 0;
    }
  }
  return {out};
}

OpCase multinomial_case(bool replaces) {
  return {.op = Op::kMultinomial,
          .what = replaces ? "with replacement" : "without replacement",
          .inputs = {{uniform(0.1, 1)}},
          .shapes = {{{0, 3}}, {{1}}, {{1, 1}}, {{7, 5}}, {{17}}, {{15, 2305}}},
          .run = call_of_one([=](const Tensor& x) {
            x.device().context->set_generator(x.device().context->seed(), kDraws);
            return ops::multinomial(x, samples_of(x.shape(), replaces), replaces);
          }),
          .reference = [=](const Arrays& in) { return drawn(in[0], replaces); },
          .results = {as_index},
          .is_exact = true};
}

// Half of the elements are 0.
Draw sparse() {
  return [](std::mt19937& random, const Shapes&, int64_t) { return random() % 2 == 0 ? 0.0 : 1.0; };
}

OpCase nonzero_case() {
  return {.op = Op::kNonzero,
          .inputs = {{sparse()}},
          .shapes = shapes_of_one(),
          .run = call_of_one(ops::nonzero),
          .reference =
              [](const Arrays& in) {
                std::vector<double> places;
                int64_t i = 0, count = 0;
                for_each_index(in[0].shape, [&](const Shape& at) {
                  if (in[0][i++] == 0) return;
                  ++count;
                  for (const int64_t index : at) places.push_back(static_cast<double>(index));
                });
                Array out({count, in[0].shape.rank()});
                out.values = places;
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .results = {as_index},
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> select_cases() {
  const Choice up = {.dim = 1, .descending = false}, down = {.dim = 0, .descending = true};
  const Choice largest = {.dim = 1, .descending = true, .count = 3},
               smallest = {.dim = 0, .descending = false, .count = 2};
  OpCase tops = topk_case("the largest along the second dimension", largest);
  tops.shapes = {{{0, 3}}, {{7, 5}}, {{3, 5, 7}}, {{2305, 15}}};
  OpCase bottoms = topk_case("the smallest along the first dimension", smallest);
  bottoms.shapes = {{{2, 0}}, {{7, 5}}, {{15, 2305}}};
  OpCase unsorted =
      topk_case("in the order of the indices", {.dim = 1, .descending = true, .count = 3, .sorted = false});
  unsorted.shapes = tops.shapes;
  OpCase all = topk_case("all elements", {.dim = 1, .descending = false, .count = 1});
  all.shapes = {{{1, 1}}, {{5, 1}}};
  return {sort_case("ascending along the second dimension", up),
          sort_case("descending along the first dimension", down),
          tied(sort_case("", up), 1),
          tied(sort_case("", down), 0),
          argsort_case(sort_case("ascending along the second dimension", up), up),
          argsort_case(sort_case("descending along the first dimension", down), down),
          argsort_case(tied(sort_case("", up), 1), up),
          tops,
          bottoms,
          unsorted,
          all,
          tied(topk_case("", largest), 1),
          tied(topk_case("", smallest), 0),
          multinomial_case(true),
          multinomial_case(false),
          nonzero_case()};
}

}  // namespace halftone
