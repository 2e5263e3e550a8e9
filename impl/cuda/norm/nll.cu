// Negative log-likelihood: cross entropy of log-probabilities, which needs no normalizer.
#include "cuda/base/launch.h"
#include "cuda/base/map.h"
#include "cuda/norm/class_rows.h"
#include "cuda/norm/entries.h"

namespace halftone::cuda {
namespace {

template <class C>
HALFTONE_KERNEL loss_kernel(ClassRows<C> rows, View input, int64_t target_stride, C* losses, C* row_weights) {
  const Elements elements = {input.data, input.dtype};
  for (int64_t row = first_item(); row < input.shape[0]; row += item_step()) {
    const int64_t target = rows.targets[row * target_stride];
    rows.check(row, target);
    const bool counts = rows.counts(target);
    const C weight = counts ? rows.weight_of(target) : C(0);
    row_weights[row] = weight;
    losses[row] = C(0);
    if (!counts) continue;
    losses[row] = -load<C>(elements, row * input.strides[0] + target * input.strides[1]) * weight;
  }
}

// The views: out, grad_rows, targets, and two without memory whose offsets are the class and the row.
template <class C>
HALFTONE_KERNEL slope_kernel(Places<5> places, Elements out, Elements grads, ClassRows<C> rows) {
  for (int64_t i = first_item(); i < places.count; i += item_step()) {
    const Offsets<5> offsets = offsets_at(places, i);
    const int64_t target = rows.targets[offsets.at[2]];
    const int64_t index = offsets.at[3];
    if (index == 0) rows.check(offsets.at[4], target);
    C slope = C(0);
    if (index == target && rows.counts(target)) slope = -load<C>(grads, offsets.at[1]) * rows.weight_of(target);
    store<C>(out, offsets.at[0], slope);
  }
}

// A number for each row [n], repeated for all classes.
View across(const View& of_rows, const View& out) {
  return {of_rows.data, of_rows.dtype, out.shape, {of_rows.strides[0], 0}};
}

template <class C>
Status losses_as(Stream& stream, const View& input, const ClassTargets& targets, const ClassLosses& out) {
  return launch(stream, grid_for_items(device_of(stream), input.shape[0]), loss_kernel<C>,
                ClassRows<C>(stream, targets, input.shape[1]), input, targets.indices.strides[0],
                static_cast<C*>(out.losses.data), static_cast<C*>(out.row_weights.data));
}

template <class C>
Status slopes_as(Stream& stream, const View& grad_rows, const ClassTargets& targets, const View& out) {
  const View classes = {nullptr, DType::kI64, out.shape, {0, 1}};
  const View row_numbers = {nullptr, DType::kI64, out.shape, {1, 0}};
  const Places<5> places = places_of(out, across(grad_rows, out), across(targets.indices, out), classes, row_numbers);
  return launch(stream, grid_for_items(device_of(stream), places.count), slope_kernel<C>, places, elements_of(out),
                elements_of(grad_rows), ClassRows<C>(stream, targets, out.shape[1]));
}

}  // namespace

Status nll(Stream& stream, const View& log_probabilities, const ClassTargets& targets,
           const ClassLosses& out) noexcept {
  return with_float_type(log_probabilities.dtype,
                         [&]<class C>() { return losses_as<C>(stream, log_probabilities, targets, out); });
}

Status nll_backward(Stream& stream, const View& grad_rows, const ClassTargets& targets,
                    const View& grad_input) noexcept {
  return with_float_type(grad_input.dtype,
                         [&]<class C>() { return slopes_as<C>(stream, grad_rows, targets, grad_input); });
}

}  // namespace halftone::cuda
