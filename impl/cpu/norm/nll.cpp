// Negative log-likelihood: cross entropy of log-probabilities, which needs no normalizer.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm/nll.cpp"
#include "cpu/device.h"
#include "cpu/norm/entries.h"
#include "cpu/rows/class_rows.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class C>
void nll_losses_as(ThreadPool& pool, const View& log_probabilities, const ClassTargets& targets,
                   const ClassLosses& out) {
  const ClassRows<C> rows(targets, log_probabilities.shape[1]);
  const Layout layout(log_probabilities);
  auto* losses = static_cast<C*>(out.losses.data);
  auto* row_weights = static_cast<C*>(out.row_weights.data);
  for_each_row_range(pool, log_probabilities.shape[0], 1, [&](int64_t first, int64_t last) {
    TileReader<C> reader(layout);
    for (int64_t row = first; row < last; ++row) {
      losses[row] = row_weights[row] = C{0};
      if (rows.is_ignored(row)) continue;
      const int64_t target = rows.target_of(row);
      row_weights[row] = rows.weight_of(target);
      losses[row] = -*reader.read(row * rows.classes + target, 1) * row_weights[row];
    }
  });
}

template <class C>
void nll_slopes_as(ThreadPool& pool, const View& grad_rows, const ClassTargets& targets, const View& out) {
  const ClassRows<C> rows(targets, out.shape[1]);
  const Layout grads(grad_rows), to(out);
  for_each_row_range(pool, out.shape[0], rows.classes, [&](int64_t first, int64_t last) {
    TileReader<C> grad_reader(grads);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      clear_row(writer, row * rows.classes, rows.classes);
      if (rows.is_ignored(row)) continue;
      const int64_t target = rows.target_of(row);
      const C slope = -*grad_reader.read(row, 1) * rows.weight_of(target);
      writer.write(row * rows.classes + target, 1, &slope);
    }
  });
}

}  // namespace

void nll_losses(ThreadPool& pool, const View& input, const ClassTargets& targets, const ClassLosses& out) {
  (input.dtype == DType::kF64 ? nll_losses_as<double> : nll_losses_as<float>)(pool, input, targets, out);
}

void nll_slopes(ThreadPool& pool, const View& grad_rows, const ClassTargets& targets, const View& out) {
  (out.dtype == DType::kF64 ? nll_slopes_as<double> : nll_slopes_as<float>)(pool, grad_rows, targets, out);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(nll_losses);
HWY_EXPORT(nll_slopes);

Status nll(Stream& stream, const View& log_probabilities, const ClassTargets& targets,
           const ClassLosses& out) noexcept {
  const Status status = check_range("targets", targets.indices, log_probabilities.shape[1], &targets.ignore_index);
  if (!status.ok()) return status;
  HWY_DYNAMIC_DISPATCH(nll_losses)(pool_of(stream), log_probabilities, targets, out);
  return {};
}

Status nll_backward(Stream& stream, const View& grad_rows, const ClassTargets& targets,
                    const View& grad_input) noexcept {
  // Check again: the targets may be in memory of the embedding program, which may have changed it since forward.
  const Status status = check_range("targets", targets.indices, grad_input.shape[1], &targets.ignore_index);
  if (!status.ok()) return status;
  HWY_DYNAMIC_DISPATCH(nll_slopes)(pool_of(stream), grad_rows, targets, grad_input);
  return {};
}

}  // namespace halftone::cpu
#endif
