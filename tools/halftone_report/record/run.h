// One run as its record describes it: its steps, samples of its tensors, and events. Reader fills it; the panels of a
// report and the summary of a terminal read it. Plain data.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace halftone_report {

// A number that the record does not have. A record's null, which is a number that was not finite, is NaN.
inline constexpr double kAbsent = -std::numeric_limits<double>::infinity();
inline bool is_there(double value) { return value != kAbsent; }
// It is there and finite.
inline bool is_known(double value) { return std::isfinite(value); }

struct Step {
  int64_t step = 0;
  bool is_skipped = false;
  double loss = kAbsent;
  double learning_rate = kAbsent;
  double scale = kAbsent;  // of the loss
  double norm = kAbsent;   // of all gradients
  double rate = kAbsent;   // items a second
  double seconds = kAbsent;
};

// One number for each step, such as the seconds of a part.
struct Column {
  std::string name;
  std::vector<double> values;
};

struct Skip {
  int64_t step = 0;
  std::string tensor;  // empty: not known
};

// How many numbers have each exponent: counts[i] those in [2^(first + i - 127), 2^(first + i - 126)). Zeros and numbers
// that are not finite are in no bin.
struct Histogram {
  int first = 0;
  std::vector<double> counts;
};

// A tensor in one step. Numbers of a gradient are those that are stored, with its scale.
struct Sample {
  int64_t step = 0;
  double elements = 0, zeros = 0, infinities = 0, nans = 0;
  double largest = kAbsent, least = kAbsent;  // magnitudes; least is that of the numbers that are not 0
  double norm = kAbsent;
  double scale = kAbsent;
  Histogram exponents;
  double lost = kAbsent, still = kAbsent;  // elements of a parameter that its update left as they were
  double update_norm = kAbsent;
  Histogram ratios;  // counts[i]: the weight's exponent exceeds that of its update by first + i
  double noise = kAbsent;
};

enum class TensorKind { kParameter, kGradient, kActivation };

struct Tensor {
  TensorKind kind = TensorKind::kParameter;
  std::string name;
  std::string op;     // of an activation
  std::string dtype;  // of the newest sample
  std::vector<Sample> samples;
};

enum class EventKind { kSpike, kEvaluation, kFallback, kCheckpoint };

struct Event {
  int64_t step = 0;
  EventKind kind = EventKind::kSpike;
  std::string what;        // a spike's quantity, a fallback's module
  std::string from, to;    // a fallback's formats
  double value = kAbsent;  // of the quantity; an evaluation's loss
  double mean = kAbsent, deviation = kAbsent;
};

struct Run {
  std::string path;
  std::string label;  // the path where the record has none
  std::string library, device;
  double threads = kAbsent;
  std::vector<Step> steps;
  std::vector<Column> parts;   // of a step's seconds
  std::vector<Column> memory;  // bytes by category
  std::vector<double> peaks;   // bytes of the device
  std::vector<Skip> skips;
  std::vector<Tensor> tensors;
  std::vector<Event> events;
};

}  // namespace halftone_report
