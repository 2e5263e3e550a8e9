// The targets and weights of a classification loss as its kernels read them.
#pragma once

#include "backend/kernels/norm.h"
#include "cuda/base/element.h"
#include "cuda/base/fault.h"
#include "cuda/base/stream.h"

namespace halftone::cuda {

// `weights` are f32, or f64 for rows of C = double.
template <class C>
struct ClassRows {
  ClassRows(Stream& stream, const ClassTargets& given, int64_t class_count) noexcept
      : targets(static_cast<const int64_t*>(given.indices.data)),
        weights(static_cast<const C*>(given.weight.data)),
        classes(class_count),
        ignore_index(given.ignore_index),
        smoothing(static_cast<C>(given.label_smoothing)),
        word(device_of(stream).fault),
        fault(possible_fault(FaultKind::kIndex, "targets", given.indices.shape, class_count)) {}

  // A target that is neither a class nor ignored is reported by `check`, and counts as ignored.
  HALFTONE_DEVICE bool counts(int64_t target) const {
    return target != ignore_index && target >= 0 && target < classes;
  }
  HALFTONE_DEVICE void check(int64_t row, int64_t target) const {
    if (target != ignore_index && (target < 0 || target >= classes)) report(word, fault, row, target);
  }
  HALFTONE_DEVICE C weight_of(int64_t target) const { return weights == nullptr ? C(1) : weights[target]; }

  const int64_t* targets;
  const C* weights;  // null if all are 1
  int64_t classes;
  int64_t ignore_index;
  C smoothing;
  Fault* word;
  Fault fault;
};

// One number for each row, as a column beside the rows [n, c]. REQUIRES: `of_rows` is a vector.
inline View column_of(const View& of_rows) {
  return {of_rows.data, of_rows.dtype, {of_rows.shape[0], 1}, {of_rows.strides[0], 0}};
}

}  // namespace halftone::cuda
