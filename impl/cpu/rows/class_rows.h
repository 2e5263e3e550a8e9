// The targets and weights of a classification loss in the form that kernels read. Immutable, so threads share one.
#pragma once

#include <algorithm>

#include "backend/kernels/norm.h"
#include "cpu/index/check_range.h"

namespace halftone::cpu {

template <class C>
struct ClassRows {
  ClassRows(const ClassTargets& given, int64_t class_count) noexcept
      : targets(given), weights(static_cast<const C*>(given.weight.data)), classes(class_count) {
    double sum = weights == nullptr ? static_cast<double>(classes) : 0;
    for (int64_t i = 0; weights != nullptr && i < classes; ++i) sum += static_cast<double>(weights[i]);
    weight_sum = static_cast<C>(sum);
    smoothing = static_cast<C>(given.label_smoothing);
  }

  int64_t target_of(int64_t row) const noexcept {
    return static_cast<const int64_t*>(targets.indices.data)[row * targets.indices.strides[0]];
  }
  bool is_ignored(int64_t row) const noexcept { return target_of(row) == targets.ignore_index; }
  C weight_of(int64_t target) const noexcept { return weights == nullptr ? C{1} : weights[target]; }

  const ClassTargets& targets;
  const C* weights;  // null if all are 1
  int64_t classes;
  C weight_sum;
  C smoothing;
};

// Writes zeros to `length` elements from `begin` on, through a TileWriter.
template <class Writer>
void clear_row(Writer& writer, int64_t begin, int64_t length) {
  constexpr int64_t kStep = 256;
  for (int64_t offset = 0; offset < length; offset += kStep) {
    const int64_t count = std::min(kStep, length - offset);
    std::fill_n(writer.tile(begin + offset, count), count, 0);
    writer.commit(begin + offset, count);
  }
}

}  // namespace halftone::cpu
