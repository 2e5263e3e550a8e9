#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/norm/cross_entropy.cpp"
#include "backend/cpu/norm/cross_entropy.h"

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/index/check_range.h"
#include "backend/cpu/norm/rows.h"
#include "backend/formula/softmax.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "backend/cpu/norm/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

int64_t target_of(const View& targets, int64_t row) {
  return static_cast<const int64_t*>(targets.data)[row * targets.strides[0]];
}

template <class C>
void losses_as(ThreadPool& pool, const View& logits, const View& targets, const View& out_log_sum_exp,
               const View& out_losses) {
  const int64_t classes = logits.shape[1];
  const Layout layout(logits);
  auto* log_sum_exps = static_cast<C*>(out_log_sum_exp.data);
  auto* losses = static_cast<C*>(out_losses.data);
  for_each_row_range(pool, logits.shape[0], classes, [&](int64_t first, int64_t last) {
    TileReader<C> reader(layout);
    for (int64_t row = first; row < last; ++row) {
      const LogSumExp<C> parts = log_sum_exp(reader, row * classes, classes);
      const C log_of_sum = std::log(parts.sum);
      const C target_logit = *reader.read(row * classes + target_of(targets, row), 1);
      log_sum_exps[row] = parts.largest + log_of_sum;
      losses[row] = cross_entropy_loss(parts.largest, log_of_sum, target_logit);
    }
  });
}

template <class C>
void gradients_as(ThreadPool& pool, const View& grad_output, double scale, const View& logits, const View& targets,
                  const View& log_sum_exp, const View& grad_logits) {
  const int64_t classes = logits.shape[1];
  const Layout from(logits);
  const Layout to(grad_logits);
  const auto* log_sum_exps = static_cast<const C*>(log_sum_exp.data);
  C grad;
  load_tile({static_cast<std::byte*>(grad_output.data), grad_output.dtype, 1}, 1, &grad);
  const C factor = static_cast<C>(static_cast<double>(grad) * scale);
  for_each_row_range(pool, logits.shape[0], classes, [&](int64_t first, int64_t last) {
    TileReader<C> reader(from);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      for_each_tile<C>(classes, [&](int64_t offset, int64_t count) {
        const int64_t begin = row * classes + offset;
        C* tile = writer.tile(begin, count);
        exp_of_difference(reader.read(begin, count), log_sum_exps[row], count, tile);
        const int64_t target = target_of(targets, row) - offset;
        if (target >= 0 && target < count) tile[target] -= C{1};
        for (int64_t i = 0; i < count; ++i) tile[i] *= factor;
        writer.commit(begin, count);
      });
    }
  });
}

}  // namespace

void losses(ThreadPool& pool, const View& logits, const View& targets, const View& out_log_sum_exp,
            const View& out_losses) {
  const bool wide = logits.dtype == DType::kF64;
  (wide ? losses_as<double> : losses_as<float>)(pool, logits, targets, out_log_sum_exp, out_losses);
}

void gradients(ThreadPool& pool, const View& grad_output, double scale, const View& logits, const View& targets,
               const View& log_sum_exp, const View& grad_logits) {
  const bool wide = logits.dtype == DType::kF64;
  (wide ? gradients_as<double> : gradients_as<float>)(pool, grad_output, scale, logits, targets, log_sum_exp,
                                                      grad_logits);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(losses);
HWY_EXPORT(gradients);

Status cross_entropy(Stream& stream, const View& logits, const View& targets, const View& out_log_sum_exp,
                     const View& out_losses) noexcept {
  const Status status = check_range("targets", targets, logits.shape[1]);
  if (!status.ok()) return status;
  HWY_DYNAMIC_DISPATCH(losses)(pool_of(stream), logits, targets, out_log_sum_exp, out_losses);
  return {};
}

Status cross_entropy_backward(Stream& stream, const View& grad_output, double scale, const View& logits,
                              const View& targets, const View& log_sum_exp, const View& grad_logits) noexcept {
  HWY_DYNAMIC_DISPATCH(gradients)(pool_of(stream), grad_output, scale, logits, targets, log_sum_exp, grad_logits);
  return {};
}

}  // namespace halftone::cpu
#endif
