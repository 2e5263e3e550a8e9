// Finds values that stand out from those before them. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace halftone::analysis {

// Must match htone_spike_quantity in capi/include/halftone/statistics.h.
enum class SpikeQuantity : int32_t { kLoss = 1, kGradNorm = 2 };

// "loss", "grad_norm".
const char* name_of(SpikeQuantity quantity) noexcept;

struct Spike {
  int64_t step = 0;
  SpikeQuantity quantity = SpikeQuantity::kLoss;
  double value = 0.0;
  double mean = 0.0;       // of the window before it; NaN if the window was empty
  double deviation = 0.0;  // standard, of the window before it; NaN for fewer than two values
};

// A value is a spike if it is not finite, or if it is above the mean of the window by more than `deviations` standard
// deviations. The window is the last finite values, spikes among them, so that a new level is told once and not for
// ever. Below kLeastWindow values only one that is not finite is a spike.
class SpikeDetector {
 public:
  static constexpr size_t kLeastWindow = 10;
  // A smaller deviation, relative to the mean, is rounding, and counts as this one.
  static constexpr double kLeastDeviation = 1e-6;

  // deviations 0: finds nothing. REQUIRES: window >= kLeastWindow.
  SpikeDetector(SpikeQuantity quantity, size_t window, double deviations)
      : quantity_(quantity), window_(window), deviations_(deviations) {}

  std::optional<Spike> add(int64_t step, double value);
  void clear() noexcept;

 private:
  bool stands_out(const Spike& spike) const;
  void remember(double value);

  SpikeQuantity quantity_;
  size_t window_;
  double deviations_;
  std::vector<double> values_;
  size_t oldest_ = 0;
};

}  // namespace halftone::analysis
