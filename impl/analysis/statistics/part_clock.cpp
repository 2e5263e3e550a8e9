#include "analysis/statistics/part_clock.h"

#include <algorithm>
#include <numeric>

namespace halftone::analysis {

namespace {

double seconds_of(int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

void PartClock::begin() {
  std::fill(std::begin(part_ns_), std::end(part_ns_), 0);
  part_ = StepPart::kOther;
  since_ns_ = clock_.monotonic_ns(clock_.user);
}

void PartClock::begin_part(StepPart part) {
  const int64_t now = clock_.monotonic_ns(clock_.user);
  part_ns_[static_cast<size_t>(part_)] += now - since_ns_;
  since_ns_ = now;
  part_ = part;
}

void PartClock::end(StepRecord& to) {
  begin_part(StepPart::kOther);
  std::transform(std::begin(part_ns_), std::end(part_ns_), to.part_seconds, seconds_of);
  to.seconds = seconds_of(std::accumulate(std::begin(part_ns_), std::end(part_ns_), int64_t{0}));
}

}  // namespace halftone::analysis
