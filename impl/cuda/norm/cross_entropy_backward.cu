#include <cmath>

#include "cuda/norm/class_rows.h"
#include "cuda/norm/entries.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/spread.h"

namespace halftone::cuda {
namespace {

// The gradient of a row: probability * (sum of all target weights) - (the class's own target weight). The small views
// are the targets, the rows' gradients, and a vector whose offset is the row.
template <class Element>
struct SlopesOfRow {
  using C = Element;
  static constexpr int kLarge = 1;

  ClassRows<C> rows;
  Elements grads;
  const C* normalizers;      // [n, 2]
  const double* weight_sum;  // null if there is no smoothing, or no weights
  int64_t target = 0;
  bool counts = false;
  C grad = {};
  C largest = {};
  C factor = {};  // from exp(logit - largest) to the probability times the sum of target weights
  C on_target = {};
  C on_each = {};

  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) {
    const int64_t row = small[2];
    target = rows.targets[small[0]];
    counts = rows.counts(target);
    if (!counts) return;
    grad = load<C>(grads, small[1]);
    largest = normalizers[2 * row];
    on_target = (C(1) - rows.smoothing) * rows.weight_of(target);
    on_each = rows.smoothing / static_cast<C>(rows.classes);
    const C sum = weight_sum == nullptr ? static_cast<C>(rows.classes) : static_cast<C>(*weight_sum);
    factor = C(1) / normalizers[2 * row + 1] * (on_target + on_each * sum);
  }
  template <int K>
  HALFTONE_DEVICE void result(const C (&logits)[1][K], int64_t i, int64_t step, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int64_t index = i + k * step;
      C slope = counts ? std::exp(logits[0][k] - largest) * factor : C(0);
      if (counts && on_each != C(0)) slope -= on_each * rows.weight_of(index);
      if (counts && index == target) slope -= on_target;
      results[k] = counts ? slope * grad : C(0);
    }
  }
};

template <class C>
HALFTONE_KERNEL check_targets(ClassRows<C> rows, int64_t count, int64_t stride) {
  for (int64_t i = first_item(); i < count; i += item_step()) rows.check(i, rows.targets[i * stride]);
}

template <class C>
Status slopes_as(Stream& stream, const View& grad_rows, const View& logits, const ClassTargets& targets,
                 const View& normalizers, const View& grad_logits) {
  const ClassRows<C> rows(stream, targets, logits.shape[1]);
  // Behind the pieces of the sum itself.
  auto* const weight_sum = reinterpret_cast<double*>(scratch_of(stream) + kPartialBytes);
  const bool needs_sum = rows.smoothing != C(0) && rows.weights != nullptr;
  Status status = launch(stream, grid_for_items(device_of(stream), logits.shape[0]), check_targets<C>, rows,
                         logits.shape[0], targets.indices.strides[0]);
  if (status.ok() && needs_sum) {
    status = sum(stream, targets.weight, 1.0, Store::kWrite, {weight_sum, DType::kF64, {1}, {1}});
  }
  if (!status.ok()) return status;
  const View of_targets = column_of(targets.indices), of_grads = column_of(grad_rows);
  const View row_numbers = column_of({nullptr, DType::kI64, {logits.shape[0]}, {1}});
  const SlopesOfRow<C> slopes = {rows, elements_of(grad_rows), static_cast<const C*>(normalizers.data),
                                 needs_sum ? weight_sum : nullptr};
  return each(stream, slopes, {&logits, &grad_logits}, {&of_targets, &of_grads, &row_numbers});
}

}  // namespace

Status cross_entropy_backward(Stream& stream, const View& grad_rows, const View& logits, const ClassTargets& targets,
                              const View& normalizers, const View& grad_logits) noexcept {
  return with_float_type(logits.dtype, [&]<class C>() {
    return slopes_as<C>(stream, grad_rows, logits, targets, normalizers, grad_logits);
  });
}

}  // namespace halftone::cuda
