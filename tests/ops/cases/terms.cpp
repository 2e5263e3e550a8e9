#include "terms.h"

namespace halftone {

bool ReducedDims::goes(int dim) const {
  if (dims.rank() == 0) return true;
  for (const int64_t named : dims) {
    if (named == dim || named == dim - 3) return true;
  }
  return false;
}

Shape ReducedDims::kept(const Shape& shape) const {
  Shape kept = shape;
  for (int d = 0; d < shape.rank(); ++d) {
    if (goes(d)) kept[d] = 1;
  }
  return kept;
}

Shape ReducedDims::result(const Shape& shape) const {
  if (keepdim) return kept(shape);
  Shape result;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!goes(d)) result.push_back(shape[d]);
  }
  return result;
}

std::vector<Shapes> shapes_to_reduce() {
  return {{{0, 3, 2}}, {{2, 0, 3}},  {{2, 3, 0}},    {{1, 1, 1}},
          {{3, 5, 7}}, {{2, 35, 3}}, {{5, 3, 2305}}, {{41, 29, 31}}};
}

std::vector<std::vector<double>> terms_of(const Array& array, const ReducedDims& which) {
  const Shape kept = which.kept(array.shape);
  std::vector<std::vector<double>> terms(static_cast<size_t>(numel(kept)));
  int64_t i = 0;
  for_each_index(array.shape, [&](const Shape& index) {
    terms[static_cast<size_t>(repeated_place_of(kept, index))].push_back(array[i++]);
  });
  return terms;
}

std::function<Arrays(const Arrays&)> reduced(const ReducedDims& which,
                                             Reduced (*reduce)(const std::vector<double>& terms)) {
  return [=](const Arrays& in) {
    Array out(which.result(in[0].shape));
    int64_t i = 0;
    for (const std::vector<double>& terms : terms_of(in[0], which)) {
      const Reduced one = reduce(terms);
      out[i++] = one.value;
      out.slack.push_back(one.slack);
    }
    return Arrays{out};
  };
}

}  // namespace halftone
