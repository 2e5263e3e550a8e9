#include "analysis/summary.h"

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::analysis {

TensorSummary summary_of(const Tensor& input) {
  if (!is_float(input.dtype())) {
    fail(Code::kDtypeMismatch, "input", "input is %s, expected a float", name_of(input.dtype()));
  }
  TensorSummary summary;
  const Tensor device_summary =
      from_host(input.device(), DType::kU8, {static_cast<int64_t>(sizeof summary)}, &summary, Category::kWorkspace);
  launch("histogram", input.device(), &Kernels::statistics, &StatisticsKernels::summarize, input.view(),
         static_cast<TensorSummary*>(device_summary.data()));
  read_to_host(device_summary, DType::kU8, &summary);
  return summary;
}

}  // namespace halftone::analysis
