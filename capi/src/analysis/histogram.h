// Histograms as the C API has them.
#pragma once

#include "backend/formula/tensor_summary.h"
#include "halftone/histogram.h"

namespace halftone::capi {

htone_histogram histogram_of(const TensorSummary& summary, DType dtype);

struct CheckedHistogram {
  TensorSummary summary;
  DType dtype;
};
// Throws INVALID_ARGUMENT naming a field that contradicts the others, UNSUPPORTED.
CheckedHistogram checked_histogram(const htone_histogram* histogram);

}  // namespace halftone::capi
