#include "cpu/norm/running_statistics.h"

namespace halftone::cpu {
namespace {

template <class T>
void move_values(const View& running, const double* batch, double share, double scale) {
  T* values = static_cast<T*>(running.data);
  for (int64_t i = 0; i < running.shape[0]; ++i) {
    T& value = values[i * running.strides[0]];
    value = static_cast<T>((1.0 - share) * static_cast<double>(value) + share * scale * batch[i]);
  }
}

void move_towards(const View& running, const View& batch, double share, double scale) {
  const auto* values = static_cast<const double*>(batch.data);
  if (running.dtype == DType::kF64) return move_values<double>(running, values, share, scale);
  move_values<float>(running, values, share, scale);
}

}  // namespace

Status update_running(Stream&, const RunningUpdate& update, const RunningViews& out) noexcept {
  auto* batches = static_cast<int64_t*>(out.batches.data);
  const double share = update.is_cumulative ? 1.0 / (static_cast<double>(*batches) + 1.0) : update.momentum;
  if (update.batch.mean.data != nullptr) {
    move_towards(out.mean, update.batch.mean, share, 1.0);
    move_towards(out.variance, update.batch.variance, share, update.variance_scale);
  }
  // Unsigned, because a loaded state may hold the largest count.
  if (batches != nullptr) *batches = static_cast<int64_t>(static_cast<uint64_t>(*batches) + 1);
  return {};
}

}  // namespace halftone::cpu
