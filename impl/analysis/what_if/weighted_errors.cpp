#include "analysis/what_if/weighted_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::analysis {

void WeightedErrors::add(double value, double result, const Rounded& rounded, double weight) {
  elements_ += weight;
  underflows_ += rounded.underflows ? weight : 0;
  subnormals_ += rounded.is_subnormal ? weight : 0;
  overflows_ += rounded.overflows ? weight : 0;
  if (!std::isfinite(result)) return;
  const double error = std::fabs(result - value);
  errors_.push_back({error / std::fabs(value), weight});
  finite_ += weight;
  relative_ += weight * errors_.back().relative;
  noise_power_ += weight * error * error;
  signal_power_ += weight * value * value;
}

RoundingErrors WeightedErrors::done() {
  RoundingErrors result;
  result.snr_db =
      noise_power_ == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal_power_ / noise_power_);
  if (elements_ == 0) return result;
  result.underflow_share = underflows_ / elements_;
  result.subnormal_share = subnormals_ / elements_;
  result.overflow_share = overflows_ / elements_;
  if (errors_.empty()) return result;
  result.mean = relative_ / finite_;
  result.rms = std::sqrt(noise_power_ / finite_);
  result.max = std::max_element(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
                 return a.relative < b.relative;
               })->relative;
  result.p95 = percentile(0.95);
  result.p99 = percentile(0.99);
  return result;
}

// Splits the errors at their middle and goes on with the side on which the share is reached: linear time in the mean.
double WeightedErrors::percentile(double share) {
  auto begin = errors_.begin();
  auto end = errors_.end();
  double left = share * finite_;
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, [](const Error& a, const Error& b) { return a.relative < b.relative; });
    double lower = 0;
    for (auto error = begin; error != middle; ++error) lower += error->weight;
    if (lower >= left) {
      end = middle;
    } else {
      left -= lower;
      begin = middle;
    }
  }
  return begin->relative;
}

}  // namespace halftone::analysis
