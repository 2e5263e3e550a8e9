// The machine at hand: which hardware of the table it is, and what it measures.
#pragma once

#include <string>

#include "hardware.h"
#include "speed.h"

namespace halftone_analyze {

struct Machine {
  std::string instruction_set;  // of the library's kernels
  bool has_bf16_products;
  bool uses_bf16_products;
  bool has_amx;
  const Hardware* like;
};

Machine this_machine();

// Products of 512 x 512 matrices.
struct Measurement {
  Speed fp32;
  Speed bf16;
  Speed ratio;  // bf16 to fp32, within each round
};

Measurement measure_formats();

// Medians of a machine with other work repeat to about a fifth, so the middle half of the rounds may be that far from
// the claim.
constexpr double kTolerance = 0.2;
bool agrees(const Measurement& measurement, const Hardware& claim);

}  // namespace halftone_analyze
