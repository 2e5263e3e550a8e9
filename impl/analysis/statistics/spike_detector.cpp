#include "analysis/statistics/spike_detector.h"

#include <algorithm>
#include <cmath>

namespace halftone::analysis {

namespace {

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());  // NaN for none
}

// Two passes: the squares of large values of small spread would cancel.
double deviation_of(const std::vector<double>& values, double mean) {
  double sum = 0.0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return values.size() < 2 ? NAN : std::sqrt(sum / static_cast<double>(values.size() - 1));
}

}  // namespace

const char* name_of(SpikeQuantity quantity) noexcept { return quantity == SpikeQuantity::kLoss ? "loss" : "grad_norm"; }

std::optional<Spike> SpikeDetector::add(int64_t step, double value) {
  if (deviations_ == 0.0) return std::nullopt;
  Spike spike = {.step = step, .quantity = quantity_, .value = value, .mean = mean_of(values_)};
  spike.deviation = deviation_of(values_, spike.mean);
  const bool found = stands_out(spike);
  if (std::isfinite(value)) remember(value);
  return found ? std::optional(spike) : std::nullopt;
}

bool SpikeDetector::stands_out(const Spike& spike) const {
  if (!std::isfinite(spike.value)) return true;
  if (values_.size() < kLeastWindow) return false;
  const double deviation = std::max(spike.deviation, kLeastDeviation * std::abs(spike.mean));
  return spike.value > spike.mean + deviations_ * deviation;
}

void SpikeDetector::remember(double value) {
  if (values_.size() < window_) return values_.push_back(value);
  values_[oldest_] = value;
  oldest_ = (oldest_ + 1) % window_;
}

void SpikeDetector::clear() noexcept {
  values_.clear();
  oldest_ = 0;
}

}  // namespace halftone::analysis
