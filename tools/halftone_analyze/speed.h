// Speeds of several rounds, in GFLOP/s: half of the rounds were between low and high.
#pragma once

#include <string>
#include <vector>

namespace halftone_analyze {

struct Speed {
  double low;
  double median;
  double high;
};

// The quartiles of a number of rounds that is 1 more than a multiple of 4.
Speed speed_of(std::vector<double> rounds);

std::string json_of(const Speed& speed);

}  // namespace halftone_analyze
