#include "analysis/rounding_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/format_rounder.h"

namespace halftone::analysis {
namespace {

// The power of two that brings numbers of this magnitude near 1.
int unit_of(double magnitude) { return magnitude > 0 ? -std::clamp(std::ilogb(magnitude), -1022, 1022) : 0; }

// Rounds the nonzero elements and collects their errors.
class ErrorCollector {
 public:
  ErrorCollector(const FormatRounding& rule, double largest)
      : rule_(rule),
        rounder_(rule),
        signal_unit_(unit_of(largest)),
        noise_unit_(unit_of(std::max(largest, std::ldexp(1, rule.format.step_exponent())))) {}

  void add(double value, uint64_t index) {
    const uint32_t random = rule_.rounding == Rounding::kStochastic ? philox(rule_.key, index / 4)[index % 4] : 0;
    const Rounded rounded = rounder_.round(value, random);
    const double result = rounded.result;
    overflows_ += rounded.overflows ? 1 : 0;
    underflows_ += rounded.underflows ? 1 : 0;
    subnormals_ += rounded.is_subnormal ? 1 : 0;
    if (!std::isfinite(result)) return;
    relative_.push_back(std::fabs(result - value) / std::fabs(value));
    // Scaled by powers of two, so that no square overflows or is lost: an error is not much larger than the largest
    // element, or than the smallest number above 0.
    const double error = std::ldexp(result - value, noise_unit_);
    const double signal = std::ldexp(value, signal_unit_);
    noise_power_ += error * error;
    signal_power_ += signal * signal;
  }

  void finish(RoundingErrors& result) {
    const auto share = [&](int64_t count) {
      return result.nonzero == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(result.nonzero);
    };
    result.underflow_share = share(underflows_);
    result.subnormal_share = share(subnormals_);
    result.overflow_share = share(overflows_);
    const double unit_db = 20 * (noise_unit_ - signal_unit_) * std::log10(2.0);
    result.snr_db = noise_power_ == 0 ? std::numeric_limits<double>::infinity()
                                      : 10 * std::log10(signal_power_ / noise_power_) + unit_db;
    if (relative_.empty()) return;
    const double count = static_cast<double>(relative_.size());
    double sum = 0;
    for (const double error : relative_) sum += error;
    result.mean = sum / count;
    result.max = *std::max_element(relative_.begin(), relative_.end());
    result.p95 = percentile(95);
    result.p99 = percentile(99);
    result.rms = std::ldexp(std::sqrt(noise_power_ / count), -noise_unit_);
  }

 private:
  // The smallest error that at least `percent` of the errors do not exceed.
  double percentile(size_t percent) {
    const size_t rank = (relative_.size() * percent + 99) / 100;
    const auto place = relative_.begin() + static_cast<ptrdiff_t>(rank - 1);
    std::nth_element(relative_.begin(), place, relative_.end());
    return *place;
  }

  const FormatRounding& rule_;
  const FormatRounder rounder_;
  const int signal_unit_;
  const int noise_unit_;
  std::vector<double> relative_;
  double noise_power_ = 0;
  double signal_power_ = 0;
  int64_t underflows_ = 0;
  int64_t subnormals_ = 0;
  int64_t overflows_ = 0;
};

}  // namespace

RoundingErrors rounding_errors(std::span<const double> values, const FormatRounding& rule) {
  RoundingErrors result;
  for (const double value : values) {
    if (value == 0) ++result.zeros;
    if (!std::isfinite(value)) ++result.non_finite;
    if (std::isfinite(value)) result.largest = std::max(result.largest, std::fabs(value));
  }
  result.nonzero = static_cast<int64_t>(values.size()) - result.zeros - result.non_finite;
  ErrorCollector collector(rule, result.largest);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0 && std::isfinite(values[i])) collector.add(values[i], i);
  }
  collector.finish(result);
  result.loss_scale = loss_scale(result.largest, rule.format);
  return result;
}

double loss_scale(double magnitude, const FormatBits& format) {
  if (magnitude == 0) return 1;
  int own = 0;
  int most = 0;
  const double fraction = std::frexp(magnitude, &own);
  const double largest = std::frexp(format.largest(), &most);
  return std::ldexp(1, std::clamp(most - own - (fraction > largest ? 1 : 0), -126, 127));
}

}  // namespace halftone::analysis
