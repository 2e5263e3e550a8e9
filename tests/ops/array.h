// The data type of the references: plain arrays of doubles in row-major order, with loops over their indices. Used from
// one thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/shape.h"

namespace halftone {

struct Array {
  explicit Array(const Shape& its_shape) : shape(its_shape), values(static_cast<size_t>(numel(its_shape))) {}

  Shape shape;
  std::vector<double> values;
  // Error bound of each element before it is rounded to the result's dtype, in half units of the compute type at 1. If
  // it is empty, the bound is kFunctionError times the element's size.
  std::vector<double> slack;
  // A further error bound, in half units of the result's dtype at 1: of values that are rounded to it on the way. Empty
  // if there are none.
  std::vector<double> inner_slack;
  // Likewise for results of BF16 alone: kernels may round what lies between two products to it.
  std::vector<double> narrow_slack;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  double& operator[](int64_t i) { return values[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return values[static_cast<size_t>(i)]; }
};

// Error bound of one elementary function in half units, relative to its value. The accuracy tests of the kernels check
// it.
inline constexpr double kFunctionError = 8;

// The position of an index in row-major order.
inline int64_t place_of(const Shape& shape, const Shape& index) {
  int64_t place = 0;
  for (int d = 0; d < shape.rank(); ++d) place = place * shape[d] + index[d];
  return place;
}

// As place_of, for an `index` of a shape that `shape` broadcasts to.
inline int64_t repeated_place_of(const Shape& shape, const Shape& index) {
  int64_t place = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    place = place * shape[d] + (shape[d] == 1 ? 0 : index[index.rank() - shape.rank() + d]);
  }
  return place;
}

// Calls body(index) for every index in row-major order.
template <class Body>
void for_each_index(const Shape& shape, Body&& body) {
  Shape index;
  for (int d = 0; d < shape.rank(); ++d) index.push_back(0);
  for (int64_t left = numel(shape); left > 0; --left) {
    body(static_cast<const Shape&>(index));
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// A sum that is more exact than that of any kernel, and the magnitude that a kernel's rounding errors are relative to.
class Sum {
 public:
  void add(double term) {
    value_ += term;
    magnitude_ += std::fabs(term);
    ++terms_;
  }
  double value() const { return static_cast<double>(value_); }
  double magnitude() const { return static_cast<double>(magnitude_); }
  // For terms added one after the other: one rounding per term and one per addition.
  double slack_in_order() const { return (2 * static_cast<double>(terms_) + 16) * static_cast<double>(magnitude_); }
  // For terms added pairwise: kernels add up to 16 in a row, then halves.
  double slack_pairwise() const {
    return (24 + std::log2(static_cast<double>(terms_ + 1))) * static_cast<double>(magnitude_);
  }

 private:
  long double value_ = 0;
  long double magnitude_ = 0;
  int64_t terms_ = 0;
};

}  // namespace halftone
