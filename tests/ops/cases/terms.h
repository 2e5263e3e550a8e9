// Reductions in the reference: finds the elements that each result is reduced from. Used from one thread.
#pragma once

#include <functional>
#include <vector>

#include "ops/op_case.h"

namespace halftone {

// The dimensions to reduce, of three; an empty list means all.
struct ReducedDims {
  const char* name;
  Shape dims;
  bool keepdim;

  bool goes(int dim) const;
  // The result's shape with reduced sizes of 1, and the shape after keepdim is applied.
  Shape kept(const Shape& shape) const;
  Shape result(const Shape& shape) const;
};

inline const ReducedDims kReducedDims[] = {
    {"over all dimensions", {}, false},
    {"over the last dimension", {-1}, true},
    {"over the first and the last dimension", {0, 2}, false},
    {"over the middle dimension", {1}, false},
};

// Shapes of three dimensions, with a size of 0 in every position.
std::vector<Shapes> shapes_to_reduce();

// The elements of each result, in row-major order.
std::vector<std::vector<double>> terms_of(const Array& array, const ReducedDims& which);

struct Reduced {
  double value;
  double slack;
};
std::function<Arrays(const Arrays&)> reduced(const ReducedDims& which,
                                             Reduced (*reduce)(const std::vector<double>& terms));

}  // namespace halftone
