#include "analysis/what_if/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::analysis {
namespace {

// Steeper densities than these are those of single numbers.
constexpr double kSteepest = 30;

FormatBits bits_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return halftone::bits_of(NumberFormat::kF16);
    case DType::kBF16:
      return halftone::bits_of(NumberFormat::kBF16);
    case DType::kF8E4M3:
      return halftone::bits_of(NumberFormat::kE4M3);
    case DType::kF8E5M2:
      return halftone::bits_of(NumberFormat::kE5M2);
    default:
      return ieee_format(8, 23);
  }
}

FormatGrid<double> grid_towards(DType dtype, Rounding rounding) {
  return grid_of<double>({.format = bits_of(dtype), .rounding = rounding, .overflow = Overflow::kNonFinite});
}

double edge_of(int bin) { return std::ldexp(1, bin - 127); }

// The integral of 2^(slope * t) from 0 to `width`.
double mass(double slope, double width) {
  return std::fabs(slope * width) < 1e-9 ? width : std::expm1(slope * width * std::log(2)) / (slope * std::log(2));
}

// Returns the end of the integral of 2^(slope * t) from 0 that has a share of the one to `width`.
double place_of(double share, double slope, double width) {
  if (std::fabs(slope * width) < 1e-9) return share * width;
  return std::log1p(share * std::expm1(slope * width * std::log(2))) / (slope * std::log(2));
}

}  // namespace

Magnitudes::Magnitudes(const TensorSummary& summary, DType dtype)
    : summary_(&summary),
      grid_(grid_towards(dtype, Rounding::kTowardZero)),
      largest_end_(round_to_format(std::nextafter(double{summary.amax()}, std::numeric_limits<double>::infinity()),
                                   grid_towards(dtype, Rounding::kUp))) {
  for (int bin = 0; bin < kExponentBins; ++bin) {
    nonzero_ += static_cast<double>(summary.exponents[bin]);
    if (summary.exponents[bin] > 0) place(bin);
  }
  for (int bin = 0; bin < kExponentBins; ++bin) {
    if (summary.exponents[bin] > 0) bend(bin);
  }
}

double Magnitudes::bottom_of(int bin) const {
  const double least = summary_->amin();
  return bin == 0 ? least : std::max(edge_of(bin), least);
}

// Each number of the dtype stands for the magnitudes up to the next one. There may be none after the largest: then its
// end is an infinity or NaN, which fmin does not return.
void Magnitudes::place(int bin) {
  const double bottom = bottom_of(bin);
  const double top = std::fmin(edge_of(bin + 1), largest_end_);
  octaves_[static_cast<size_t>(bin)] = {.bottom = std::log2(bottom), .half = 0.5 * std::log2(top / bottom)};
}

// The slope of the logarithm of the mean densities of two neighbours.
double Magnitudes::slope_between(int lower, int upper) const {
  const Octave& a = octaves_[static_cast<size_t>(lower)];
  const Octave& b = octaves_[static_cast<size_t>(upper)];
  const double ratio =
      static_cast<double>(summary_->exponents[upper]) / static_cast<double>(summary_->exponents[lower]);
  const double slope = std::log2(ratio * a.half / b.half) / (b.center() - a.center());
  return std::clamp(slope, -kSteepest, kSteepest);
}

void Magnitudes::bend(int bin) {
  Octave& octave = octaves_[static_cast<size_t>(bin)];
  const bool has_lower = bin > 0 && summary_->exponents[bin - 1] > 0;
  const bool has_upper = bin + 1 < kExponentBins && summary_->exponents[bin + 1] > 0;
  if (has_lower) octave.slopes[0] = slope_between(bin - 1, bin);
  if (has_upper) octave.slopes[1] = slope_between(bin, bin + 1);
  // Beside an empty octave the density continues; alone it is uniform.
  if (!has_lower) octave.slopes[0] = has_upper ? octave.slopes[1] : 1;
  if (!has_upper) octave.slopes[1] = octave.slopes[0];
  const double lower = mass(-octave.slopes[0], octave.half);
  octave.lower_share = lower / (lower + mass(octave.slopes[1], octave.half));
}

double Magnitudes::in_bin(int bin, double share) const {
  const Octave& octave = octaves_[static_cast<size_t>(bin)];
  const bool is_lower = share < octave.lower_share;
  const double part = is_lower ? share / octave.lower_share : (share - octave.lower_share) / (1 - octave.lower_share);
  const double from = is_lower ? octave.bottom : octave.center();
  const double found = std::exp2(from + place_of(part, octave.slopes[is_lower ? 0 : 1], octave.half));
  // The logarithms are rounded, so a magnitude may come out beside its octave.
  const double most = std::min(std::nextafter(edge_of(bin + 1), 0), double{summary_->amax()});
  return std::clamp(round_to_format(found, grid_), bottom_of(bin), round_to_format(most, grid_));
}

double Magnitudes::of_share(double share) const {
  const double zeros = static_cast<double>(summary_->extremes.zeros);
  double left = share * (zeros + nonzero_) - zeros;
  if (left < 0) return 0;
  for (int bin = 0; bin < kExponentBins; ++bin) {
    const double count = static_cast<double>(summary_->exponents[bin]);
    if (left < count) return in_bin(bin, left / count);
    left -= count;
  }
  return summary_->amax();
}

}  // namespace halftone::analysis
