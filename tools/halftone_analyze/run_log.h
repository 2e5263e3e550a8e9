// The record of a run, a file of JSON lines: what a person looks for in it, and the newest sample of each tensor.
#pragma once

#include <halftone/histogram.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halftone_analyze {

// The updates of a parameter's weights.
struct Updates {
  int64_t lost = 0;
  int64_t still = 0;
  std::vector<int64_t> ratios;  // [d]: weights whose exponent exceeds that of their update by d

  // Those that were to change.
  int64_t meant() const;
  // The share of those that weights of so many mantissa bits would lose; 0 if none were to change.
  double lost_share(int mantissa_bits) const;
  double lost_share() const;
};

struct TensorLine {
  int64_t step = 0;
  std::string kind;
  std::string name;
  std::string op;
  std::string dtype;
  int64_t elements = 0;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  double scale = 1;  // the loss scale that a gradient carries
  std::optional<Updates> updates;
};

struct Spike {
  int64_t step = 0;
  std::string quantity;
  std::optional<double> value;  // none: not finite
};

struct SkippedStep {
  int64_t step = 0;
  std::string tensor;  // empty: not known
};

// The first sample in which a tensor was what it should not be.
struct Finding {
  std::string tensor;  // its kind and name
  int64_t step = 0;
};

struct RunLog {
  std::string label;
  std::string device;
  int64_t last_step = 0;
  int64_t stepped = 0;
  std::vector<SkippedStep> skipped;
  std::vector<Spike> spikes;
  std::vector<Finding> not_finite;  // with an infinity or NaN
  std::vector<Finding> saturated;   // with the largest number of their dtype
  std::vector<TensorLine> tensors;  // the newest of each, in the order in which they came
};

// A last line without an end is left out: the run may still write it. Throws std::runtime_error naming the line.
RunLog read_log(const std::string& path);

}  // namespace halftone_analyze
