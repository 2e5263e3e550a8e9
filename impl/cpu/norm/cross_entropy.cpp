#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm/cross_entropy.cpp"
#include "cpu/norm/entries.h"

#include "backend/formula/softmax.h"
#include "cpu/device.h"
#include "cpu/rows/class_rows.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// The values of a row that forward saves for backward.
template <class C>
struct Normalizer {
  C largest;
  C sum;  // of exp(logit - largest)
};

// The mean over the classes of -weight * log(probability): label smoothing adds it to the loss.
template <class C>
C smoothing_loss(TileReader<C>& logits, int64_t begin, const ClassRows<C>& rows, C largest, C log_of_sum) {
  const C sum = sum_of_tiles<C>(rows.classes, [&](int64_t offset, int64_t count, C* terms) {
    const C* tile = logits.read(begin + offset, count);
    for (int64_t i = 0; i < count; ++i) {
      terms[i] = rows.weight_of(offset + i) * cross_entropy_loss(largest, log_of_sum, tile[i]);
    }
  });
  return sum / static_cast<C>(rows.classes);
}

template <class C>
C row_loss(TileReader<C>& logits, int64_t row, const ClassRows<C>& rows, Normalizer<C>* normalizer) {
  const int64_t begin = row * rows.classes;
  const LogSumExp<C> parts = log_sum_exp(logits, begin, rows.classes);
  *normalizer = {parts.largest, parts.sum};
  const C log_of_sum = std::log(parts.sum);
  const int64_t target = rows.target_of(row);
  const C target_logit = *logits.read(begin + target, 1);
  const C loss = rows.weight_of(target) * cross_entropy_loss(parts.largest, log_of_sum, target_logit);
  if (rows.smoothing == C{0}) return loss;
  return (C{1} - rows.smoothing) * loss +
         rows.smoothing * smoothing_loss(logits, begin, rows, parts.largest, log_of_sum);
}

template <class C>
void losses_as(ThreadPool& pool, const View& logits, const ClassTargets& targets, const ClassLosses& out) {
  const ClassRows<C> rows(targets, logits.shape[1]);
  const Layout layout(logits);
  auto* normalizers = static_cast<Normalizer<C>*>(out.normalizers.data);
  auto* losses = static_cast<C*>(out.losses.data);
  auto* row_weights = static_cast<C*>(out.row_weights.data);
  for_each_row_range(pool, logits.shape[0], rows.classes, [&](int64_t first, int64_t last) {
    TileReader<C> reader(layout);
    for (int64_t row = first; row < last; ++row) {
      normalizers[row] = {C{0}, C{1}};
      const bool counts = !rows.is_ignored(row);
      losses[row] = counts ? row_loss(reader, row, rows, &normalizers[row]) : C{0};
      row_weights[row] = counts ? rows.weight_of(rows.target_of(row)) : C{0};
    }
  });
}

// The gradient of a row: probability * (sum of all target weights) - (the class's own target weight).
template <class C>
void row_slopes(TileReader<C>& logits, int64_t row, const ClassRows<C>& rows, const Normalizer<C>& normalizer, C grad,
                TileWriter<C>& out) {
  const int64_t target = rows.target_of(row);
  const C on_target = (C{1} - rows.smoothing) * rows.weight_of(target);
  const C on_each = rows.smoothing / static_cast<C>(rows.classes);
  const C inverse = C{1} / normalizer.sum;
  const C total = on_target + on_each * rows.weight_sum;
  for_each_tile<C>(rows.classes, [&](int64_t offset, int64_t count) {
    const int64_t begin = row * rows.classes + offset;
    C* tile = out.tile(begin, count);
    exp_of_difference(logits.read(begin, count), normalizer.largest, count, tile);
    for (int64_t i = 0; i < count; ++i) tile[i] = tile[i] * inverse * total;
    if (rows.smoothing != C{0}) {
      for (int64_t i = 0; i < count; ++i) tile[i] -= on_each * rows.weight_of(offset + i);
    }
    if (target >= offset && target < offset + count) tile[target - offset] -= on_target;
    for (int64_t i = 0; i < count; ++i) tile[i] *= grad;
    out.commit(begin, count);
  });
}

template <class C>
void slopes_as(ThreadPool& pool, const View& grad_rows, const View& logits, const ClassTargets& targets,
               const View& normalizers, const View& grad_logits) {
  const ClassRows<C> rows(targets, logits.shape[1]);
  const Layout grads(grad_rows), from(logits), to(grad_logits);
  const auto* parts = static_cast<const Normalizer<C>*>(normalizers.data);
  for_each_row_range(pool, logits.shape[0], rows.classes, [&](int64_t first, int64_t last) {
    TileReader<C> reader(from), grad_reader(grads);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      if (rows.is_ignored(row)) {
        clear_row(writer, row * rows.classes, rows.classes);
      } else {
        row_slopes(reader, row, rows, parts[row], *grad_reader.read(row, 1), writer);
      }
    }
  });
}

}  // namespace

void losses(ThreadPool& pool, const View& logits, const ClassTargets& targets, const ClassLosses& out) {
  (logits.dtype == DType::kF64 ? losses_as<double> : losses_as<float>)(pool, logits, targets, out);
}

void slopes(ThreadPool& pool, const View& grad_rows, const View& logits, const ClassTargets& targets,
            const View& normalizers, const View& grad_logits) {
  const bool wide = logits.dtype == DType::kF64;
  (wide ? slopes_as<double> : slopes_as<float>)(pool, grad_rows, logits, targets, normalizers, grad_logits);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(losses);
HWY_EXPORT(slopes);

Status cross_entropy(Stream& stream, const View& logits, const ClassTargets& targets, const ClassLosses& out) noexcept {
  const Status status = check_range("targets", targets.indices, logits.shape[1], &targets.ignore_index);
  if (!status.ok()) return status;
  HWY_DYNAMIC_DISPATCH(losses)(pool_of(stream), logits, targets, out);
  return {};
}

Status cross_entropy_backward(Stream& stream, const View& grad_rows, const View& logits, const ClassTargets& targets,
                              const View& normalizers, const View& grad_logits) noexcept {
  // Check again: the targets may be in memory of the embedding program, which may have changed it since forward.
  const Status status = check_range("targets", targets.indices, logits.shape[1], &targets.ignore_index);
  if (!status.ok()) return status;
  HWY_DYNAMIC_DISPATCH(slopes)(pool_of(stream), grad_rows, logits, targets, normalizers, grad_logits);
  return {};
}

}  // namespace halftone::cpu
#endif
