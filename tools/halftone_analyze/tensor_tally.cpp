#include "tensor_tally.h"

#include <algorithm>
#include <cmath>

namespace halftone_analyze {
namespace {

constexpr int64_t kPart = 1 << 20;

void add_value(TensorTally& tally, double value) {
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    ++tally.nans;
  } else if (std::isinf(value)) {
    ++tally.infinities;
  } else if (value == 0) {
    ++tally.zeros;
  } else {
    tally.largest = std::max(tally.largest, magnitude);
    tally.smallest = std::min(tally.smallest, magnitude);
    tally.signal += static_cast<long double>(value) * value;
  }
}

}  // namespace

void TensorTally::add(const TensorTally& other) {
  elements += other.elements;
  zeros += other.zeros;
  infinities += other.infinities;
  nans += other.nans;
  largest = std::max(largest, other.largest);
  smallest = std::min(smallest, other.smallest);
  signal += other.signal;
  for (size_t i = 0; i < formats.size(); ++i) formats[i].add(other.formats[i]);
}

TensorTally tally_of(htone_tensor* tensor, std::span<const NamedFormat* const> formats) {
  TensorTally tally(formats.size());
  htone_tensor* flat = nullptr;
  check(htone_tensor_numel(tensor, &tally.elements));
  check(htone_reshape(tensor, 1, &tally.elements, &flat));
  std::vector<double> values;
  for (int64_t begin = 0; begin < tally.elements; begin += kPart) {
    const Scope scope;
    const int64_t end = std::min(begin + kPart, tally.elements);
    htone_tensor* part = nullptr;
    check(htone_slice(flat, 0, begin, end, 1, &part));
    check(htone_cast(part, HTONE_F64, &part));  // 8-bit floats cannot be analyzed as they are
    values.resize(static_cast<size_t>(end - begin));
    check(htone_tensor_read(part, HTONE_F64, values.data(), values.size() * sizeof(double)));
    for (const double value : values) add_value(tally, value);
    for (size_t i = 0; i < formats.size(); ++i) {
      htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
      check(htone_analyze_rounding(part, formats[i]->format, nullptr, &errors));
      tally.formats[i].add(errors);
    }
  }
  return tally;
}

}  // namespace halftone_analyze
