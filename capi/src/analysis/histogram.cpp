#include "analysis/histogram.h"

#include <algorithm>
#include <limits>

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

namespace {

constexpr int64_t kMostElements = int64_t{1} << 53;

// Adds counts, none of which may be negative.
class Counter {
 public:
  int64_t checked(int64_t count, const char* field) {
    if (count < 0) {
      fail(Code::kInvalidArgument, "histogram", "histogram.%s has the count %lld, which is negative", field,
           static_cast<long long>(count));
    }
    if (count > kMostElements - total_) {
      fail(Code::kInvalidArgument, "histogram", "histogram.%s has the count %lld, which makes more than 2^53 elements",
           field, static_cast<long long>(count));
    }
    total_ += count;
    return count;
  }

 private:
  int64_t total_ = 0;
};

// The first and the last bin with elements; -1 if there is none.
struct Bins {
  int first = -1;
  int last = -1;
};

Bins take_counts(const htone_histogram& given, TensorSummary& summary) {
  Counter counter;
  summary.extremes.zeros = counter.checked(given.zeros, "zeros");
  summary.extremes.infinities = counter.checked(given.infinities, "infinities");
  summary.extremes.nans = counter.checked(given.nans, "nans");
  Bins bins;
  for (int bin = 0; bin < kExponentBins; ++bin) {
    summary.exponents[bin] = counter.checked(given.exponents[bin], "exponents");
    if (summary.exponents[bin] == 0) continue;
    bins.first = bins.first < 0 ? bin : bins.first;
    bins.last = bin;
  }
  return bins;
}

// The bits of an extreme that lies in a bin, or `none` of one that must be 0 since no bin has elements.
uint32_t checked_extreme(double extreme, int bin, uint32_t none, const char* field) {
  const bool is_magnitude = extreme >= 0 && extreme <= std::numeric_limits<float>::max();
  const uint32_t bits = is_magnitude ? magnitude_of(static_cast<float>(extreme)) : kInfiniteMagnitude;
  if (bin < 0 && extreme != 0) {
    fail(Code::kInvalidArgument, "histogram", "histogram.%s=%g, expected 0: exponents has no elements", field, extreme);
  }
  if (bin >= 0 && (bits == 0 || static_cast<int>(bits >> 23) != bin)) {
    fail(Code::kInvalidArgument, "histogram", "histogram.%s=%g does not belong to exponents[%d]", field, extreme, bin);
  }
  return bin < 0 ? none : bits;
}

}  // namespace

CheckedHistogram checked_histogram(const htone_histogram* histogram) {
  const auto given =
      options_or_default(&require(histogram, "histogram"), htone_histogram(HTONE_HISTOGRAM_INIT), "histogram");
  CheckedHistogram checked = {.summary = {}, .dtype = static_cast<DType>(given.dtype)};
  if (!is_valid(checked.dtype) || !is_float(checked.dtype)) {
    fail(Code::kInvalidArgument, "histogram", "histogram.dtype=%d, expected a float", given.dtype);
  }
  const Bins bins = take_counts(given, checked.summary);
  Extremes<int64_t>& extremes = checked.summary.extremes;
  extremes.largest = checked_extreme(given.largest, bins.last, 0, "largest");
  extremes.least = checked_extreme(given.least, bins.first, kInfiniteMagnitude, "least");
  if (bins.last >= 0 && extremes.least > extremes.largest) {
    fail(Code::kInvalidArgument, "histogram", "histogram.least=%g is above histogram.largest=%g", given.least,
         given.largest);
  }
  return checked;
}

}  // namespace halftone::capi

namespace {

htone_histogram counted(const Tensor& input) { return histogram_of(analysis::summary_of(input), input.dtype()); }

}  // namespace

htone_status htone_histogram_of(htone_tensor* input, htone_histogram* out_histogram) {
  return Pure(counted, input, structure(out_histogram));
}
