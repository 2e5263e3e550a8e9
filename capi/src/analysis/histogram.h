// Histograms as the C API has them.
#pragma once

#include "backend/formula/tensor_summary.h"
#include "halftone/histogram.h"

namespace halftone::capi {

htone_histogram histogram_of(const TensorSummary& summary, DType dtype);

}  // namespace halftone::capi
