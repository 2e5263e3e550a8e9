#include "analysis/histogram.h"

#include <algorithm>

#include "analysis/summary.h"
#include "base/call.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace halftone::capi {

htone_histogram histogram_of(const TensorSummary& summary, DType dtype) {
  const Extremes<int64_t>& extremes = summary.extremes;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  static_assert(std::size(histogram.exponents) == kExponentBins);
  histogram.dtype = static_cast<htone_dtype>(dtype);
  histogram.zeros = extremes.zeros;
  histogram.infinities = extremes.infinities;
  histogram.nans = extremes.nans;
  histogram.largest = summary.amax();
  histogram.least = extremes.least < kInfiniteMagnitude ? summary.amin() : 0.0;
  std::copy(std::begin(summary.exponents), std::end(summary.exponents), histogram.exponents);
  return histogram;
}

}  // namespace halftone::capi

namespace {

htone_histogram counted(const Tensor& input) { return histogram_of(analysis::summary_of(input), input.dtype()); }

}  // namespace

htone_status htone_histogram_of(htone_tensor* input, htone_histogram* out_histogram) {
  return Pure(counted, input, structure(out_histogram));
}
