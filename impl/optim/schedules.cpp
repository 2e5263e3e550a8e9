#include "optim/schedules.h"

#include <algorithm>
#include <cmath>

namespace halftone::optim {

namespace {

double along_line(double from, double to, double progress) { return from + (to - from) * progress; }

// Half a cosine.
double along_cosine(double from, double to, double progress) {
  constexpr double kPi = 3.141592653589793;
  return to + (from - to) * 0.5 * (1.0 + std::cos(kPi * progress));
}

// The progress of `position` from `begin` to `end`; 1 where the two are one.
double progress_between(double begin, double end, double position) {
  return end > begin ? (position - begin) / (end - begin) : 1.0;
}

}  // namespace

double LinearSchedule::factor(int64_t position) const {
  if (position >= total_steps_) return last_;
  return along_line(first_, last_, static_cast<double>(position) / static_cast<double>(total_steps_));
}

double ExponentialSchedule::factor(int64_t position) const { return std::pow(gamma_, static_cast<double>(position)); }

double RestartsSchedule::factor(int64_t position) const {
  int64_t period = first_period_;
  if (period_factor_ == 1) position %= period;
  while (position >= period) {
    position -= period;
    // The next period may be longer than any position.
    if (__builtin_mul_overflow(period, period_factor_, &period)) period = INT64_MAX;
  }
  return along_cosine(1.0, last_, static_cast<double>(position) / static_cast<double>(period));
}

double OneCycleSchedule::change(double from, double to, double progress) const {
  return settings_.is_linear ? along_line(from, to, progress) : along_cosine(from, to, progress);
}

double OneCycleSchedule::factor(int64_t position) const {
  const auto& [total_steps, rise_share, first, last, is_linear, has_three_phases] = settings_;
  const double end = static_cast<double>(total_steps) - 1.0;
  const double at = std::min(static_cast<double>(position), end);
  const double top = rise_share * static_cast<double>(total_steps) - 1.0;
  if (at <= top) return change(first, 1.0, progress_between(0.0, top, at));
  if (!has_three_phases) return change(1.0, last, progress_between(top, end, at));
  const double foot = 2.0 * top;
  if (at <= foot) return change(1.0, first, progress_between(top, foot, at));
  return change(first, last, progress_between(foot, end, at));
}

}  // namespace halftone::optim
