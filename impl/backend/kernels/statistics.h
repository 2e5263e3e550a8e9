// Kernels that look at the values of tensors.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/formula/tensor_summary.h"
#include "backend/formula/update_summary.h"
#include "backend/kernels/optim.h"
#include "backend/view.h"

namespace halftone {

// Each adds to `summary`, which is in device memory and begins as TensorSummary() or UpdateSummary().
struct StatisticsKernels {
  // Adds every element of a float tensor, in one pass.
  Status (*summarize)(Stream&, const View& in, TensorSummary* summary) noexcept;
  // Adds every element of the gradients unless *condition, in device memory, is 0. So work that is queued at each step
  // costs a launch alone where the step does not need the summary.
  Status (*summarize_gradients)(Stream&, const MultiTensor<GradSlot>&, const int32_t* condition,
                                TensorSummary* summary) noexcept;
  // Adds the update of every weight, in one pass. The views are float and have one shape.
  Status (*summarize_update)(Stream&, const View& before, const View& after, const View& gradient,
                             UpdateSummary* summary) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_STATISTICS_ENTRIES(X)      \
  X(StatisticsKernels, summarize)           \
  X(StatisticsKernels, summarize_gradients) \
  X(StatisticsKernels, summarize_update)

}  // namespace halftone
