#include "format_tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone_analyze {

void FormatTally::add(const htone_rounding_errors& errors) {
  if (errors.nonzero == 0) return;
  const auto count = [&](double share) { return std::llround(share * static_cast<double>(errors.nonzero)); };
  FormatTally part;
  part.elements_ = errors.nonzero;
  part.underflows_ = count(errors.underflow_share);
  part.subnormals_ = count(errors.subnormal_share);
  part.overflows_ = count(errors.overflow_share);
  // Numbers that are too large become the largest one, so that each element has an error.
  part.noise_ =
      static_cast<long double>(errors.rms_error) * errors.rms_error * static_cast<long double>(errors.nonzero);
  part.loss_scale_ = errors.loss_scale;
  add(part);
}

void FormatTally::add(const FormatTally& other) {
  if (other.elements_ == 0) return;
  // The larger the largest element, the smaller the scale.
  loss_scale_ = elements_ == 0 ? other.loss_scale_ : std::min(loss_scale_, other.loss_scale_);
  elements_ += other.elements_;
  underflows_ += other.underflows_;
  subnormals_ += other.subnormals_;
  overflows_ += other.overflows_;
  noise_ += other.noise_;
}

double FormatTally::snr_db(long double signal) const {
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(10 * std::log10(signal / noise_));
}

double FormatTally::share(int64_t count) const {
  return elements_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(elements_);
}

}  // namespace halftone_analyze
