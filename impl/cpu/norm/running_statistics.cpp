#include "cpu/norm/entries.h"

#include <limits>

#include "backend/formula/running_statistic.h"

namespace halftone::cpu {
namespace {

// `batch` returns that of a channel.
template <class T, class Batch>
void move_values(const View& running, double share, double scale, const Batch& batch) {
  T* values = static_cast<T*>(running.data);
  constexpr double kLargest = std::numeric_limits<T>::max();
  for (int64_t i = 0; i < running.shape[0]; ++i) {
    T& value = values[i * running.strides[0]];
    value = static_cast<T>(moved_statistic(static_cast<double>(value), share, scale, batch(i), kLargest));
  }
}

template <class Batch>
void move_towards(const View& running, double share, double scale, const Batch& batch) {
  if (running.dtype == DType::kF64) return move_values<double>(running, share, scale, batch);
  move_values<float>(running, share, scale, batch);
}

}  // namespace

Status update_running(Stream&, const RunningUpdate& update, const RunningViews& out) noexcept {
  auto* batches = static_cast<int64_t*>(out.batches.data);
  const double share = update.is_cumulative ? 1.0 / (static_cast<double>(*batches) + 1.0) : update.momentum;
  if (update.batch.mean.data != nullptr) {
    const auto* means = static_cast<const double*>(update.batch.mean.data);
    const auto* variances = static_cast<const double*>(update.batch.variance.data);
    move_towards(out.mean, share, 1.0, [=](int64_t i) { return means[i]; });
    move_towards(out.variance, share, update.variance_scale, [=](int64_t i) { return plain_variance(variances[i]); });
  }
  // Unsigned, because a loaded state may hold the largest count.
  if (batches != nullptr) *batches = static_cast<int64_t>(static_cast<uint64_t>(*batches) + 1);
  return {};
}

}  // namespace halftone::cpu
