#include "draw/axis.h"

#include <algorithm>
#include <cmath>

namespace halftone_report {
namespace {

// 1, 2 or 5 times a power of ten, so that there are at most so many ticks.
double round_distance(double range, int most_ticks) {
  const double least = range / std::max(1, most_ticks - 1);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Bytes are round in powers of two.
double round_distance(double range, Unit unit, int most_ticks) {
  if (unit != Unit::kBytes) return round_distance(range, most_ticks);
  const double prefix = std::pow(1024.0, std::max(0.0, std::floor(std::log2(range) / 10)));
  return round_distance(range / prefix, most_ticks) * prefix;
}

double logarithm(double number, int base) { return base == 2 ? std::log2(number) : std::log10(number); }

std::string tick_text(int exponent, int base, Unit unit) {
  return base == 2 ? power_of_two(exponent) : text_in(unit, std::pow(10.0, exponent));
}

}  // namespace

Axis Axis::linear(double low, double high, Unit unit, int most_ticks) {
  Axis axis;
  axis.low_ = low;
  axis.high_ = high > low ? high : low + 1;
  const double distance = round_distance(axis.high_ - axis.low_, unit, most_ticks);
  const double margin = 1e-9 * distance;
  const double largest = std::max(std::fabs(low), std::fabs(axis.high_));
  const int digits = std::max(3, static_cast<int>(std::ceil(std::log10(largest / distance))) + 1);
  for (double i = std::ceil((low - margin) / distance); i * distance <= axis.high_ + margin; ++i) {
    const double number = i * distance + 0.0;  // and not -0
    axis.ticks_.push_back({axis.place(number), text_in(unit, number, digits)});
  }
  return axis;
}

Axis Axis::rounded(double low, double high, Unit unit, int most_ticks, bool with_zero) {
  if (with_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
  if (high - low <= 1e-12 * std::fabs(high)) {  // one number only: it is in the middle
    const double room = high == 0 ? 1.0 : std::fabs(high) / 2;
    if (!with_zero) low -= room;
    high += room;
  }
  const double distance = round_distance(high - low, unit, most_ticks);
  return linear(distance * std::floor(low / distance + 1e-9), distance * std::ceil(high / distance - 1e-9), unit,
                most_ticks + 1);
}

Axis Axis::logarithmic(double low, double high, Unit unit, int base, int most_ticks) {
  Axis axis;
  axis.base_ = base;
  axis.low_ = std::floor(logarithm(low, base) + 1e-9);
  axis.high_ = std::max(axis.low_ + 1, std::ceil(logarithm(high, base) - 1e-9));
  const int exponents = static_cast<int>(axis.high_ - axis.low_);
  int distance = 1;
  for (const int further : {2, 4, 5, 8, 10, 16, 20, 32, 50, 64}) {
    if (exponents / distance < most_ticks) break;
    distance = further;
  }
  const int first = static_cast<int>(std::ceil(axis.low_ / distance)) * distance;
  for (int e = first; e <= axis.high_; e += distance) {
    axis.ticks_.push_back({(e - axis.low_) / (axis.high_ - axis.low_), tick_text(e, base, unit)});
  }
  return axis;
}

double Axis::place(double number) const {
  return ((base_ == 0 ? number : logarithm(number, base_)) - low_) / (high_ - low_);
}

void Range::add(double number) {
  if (!std::isfinite(number)) return;
  low = is_empty ? number : std::min(low, number);
  high = is_empty ? number : std::max(high, number);
  is_empty = false;
}

}  // namespace halftone_report
