#include <limits>

#include "backend/formula/running_statistic.h"
#include "cuda/base/launch.h"
#include "cuda/base/map.h"
#include "cuda/norm/entries.h"

namespace halftone::cuda {
namespace {

// A running value [channels], the batch's, and the factor of the latter.
struct Running {
  Elements values;
  int64_t stride;
  const double* batch;
  double scale;

  HALFTONE_DEVICE void move(int64_t channel, double share, double batch_value) const {
    const double largest =
        values.dtype == DType::kF64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const double before = load<double>(values, channel * stride);
    store<double>(values, channel * stride, moved_statistic(before, share, scale, batch_value, largest));
  }
};

// One block, so that all threads read the count before one of them changes it.
HALFTONE_KERNEL running_kernel(Running mean, Running variance, int64_t channels, double momentum, bool is_cumulative,
                               int64_t* batches) {
  const double share = is_cumulative ? 1.0 / (static_cast<double>(*batches) + 1.0) : momentum;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < channels; i += blockDim.x) {
    mean.move(i, share, mean.batch[i]);
    variance.move(i, share, plain_variance(variance.batch[i]));
  }
  // Unsigned, because a loaded state may hold the largest count.
  if (threadIdx.x == 0 && batches != nullptr) *batches = static_cast<int64_t>(static_cast<uint64_t>(*batches) + 1);
}

Running running_of(const View& values, const View& batch, double scale) {
  if (batch.data == nullptr) return {};
  return {elements_of(values), values.strides[0], static_cast<const double*>(batch.data), scale};
}

}  // namespace

Status update_running(Stream& stream, const RunningUpdate& update, const RunningViews& out) noexcept {
  const bool has_batch = update.batch.mean.data != nullptr;
  return launch(stream, {}, running_kernel, running_of(out.mean, update.batch.mean, 1.0),
                running_of(out.variance, update.batch.variance, update.variance_scale),
                has_batch ? out.mean.shape[0] : 0, update.momentum, update.is_cumulative,
                static_cast<int64_t*>(out.batches.data));
}

}  // namespace halftone::cuda
