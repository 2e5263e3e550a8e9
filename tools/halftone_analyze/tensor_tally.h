// The magnitudes of elements, and what formats do to them: of a part of a tensor, a tensor or several.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "format_tally.h"
#include "options.h"
#include "session.h"

namespace halftone_analyze {

struct TensorTally {
  explicit TensorTally(size_t format_count) : formats(format_count) {}

  void add(const TensorTally& other);

  int64_t elements = 0;
  int64_t zeros = 0;
  int64_t infinities = 0;
  int64_t nans = 0;
  double largest = 0;                                         // magnitude of the finite ones
  double smallest = std::numeric_limits<double>::infinity();  // magnitude of those that are not 0
  long double signal = 0;                                     // sum of the squares of the finite ones
  std::vector<FormatTally> formats;                           // in the order of the options
};

// Reads a float tensor in parts, so that it needs little memory beside the tensor.
TensorTally tally_of(htone_tensor* tensor, std::span<const NamedFormat* const> formats);

}  // namespace halftone_analyze
