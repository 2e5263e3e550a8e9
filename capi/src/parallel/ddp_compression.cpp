#include "parallel/ddp_compression.h"

#include "core/error.h"
#include "parallel/coded/coded_average.h"
#include "parallel/replicate/power_sgd.h"
#include "parallel/rounds/averages.h"

namespace halftone::capi {
namespace {

Ref<parallel::ReductionHook> power_sgd_of(const htone_ddp_options& options) {
  if (options.power_sgd_start < 0) {
    fail(Code::kInvalidArgument, "options", "options.power_sgd_start=%lld, expected at least 0",
         static_cast<long long>(options.power_sgd_start));
  }
  return parallel::power_sgd({.rank = options.power_sgd_rank,
                              .min_compression_rate = options.power_sgd_rate,
                              .start_step = static_cast<uint64_t>(options.power_sgd_start),
                              .has_error_feedback = options.error_feedback != 0,
                              .has_warm_start = options.warm_start != 0});
}

}  // namespace

Ref<parallel::ReductionHook> hook_of(const htone_ddp_options& options) {
  switch (options.compression) {
    case HTONE_DDP_COMPRESSION_NONE:
      return nullptr;
    case HTONE_DDP_COMPRESSION_F16:
      return parallel::narrow_average(DType::kF16);
    case HTONE_DDP_COMPRESSION_BF16:
      return parallel::narrow_average(DType::kBF16);
    case HTONE_DDP_COMPRESSION_POWER_SGD:
      return power_sgd_of(options);
    case HTONE_DDP_COMPRESSION_F8E5M2:
      return parallel::coded_average(options.error_feedback != 0);
    default:
      fail(Code::kInvalidArgument, "options", "options.compression=%d, expected one of HTONE_DDP_COMPRESSION_...",
           static_cast<int>(options.compression));
  }
}

}  // namespace halftone::capi
