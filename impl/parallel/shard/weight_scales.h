// The scales of weights that ranks send as codes: one for each parameter, from the largest of the magnitudes that all
// ranks have in their shards, so that the codes do not depend on the number of ranks. Ranks agree about all parameters
// in one message. Used by WeightUnits, by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "parallel/mesh/started_work.h"
#include "parallel/shard/weight_unit.h"

namespace halftone::parallel {

class WeightScales final {
 public:
  // The arguments outlive this.
  WeightScales(const Exchange& exchange, std::deque<WeightUnit>& units) : exchange_(exchange), units_(units) {}

  // Every rank calls these at the same places. They throw OUT_OF_MEMORY, IO of offloaded masters, and the errors of the
  // group.
  // Starts the message, unless all scales belong to the weights.
  void start();
  // Waits for a message that was started, and gives the units their scales.
  void finish();
  // Returns when the unit has its scales, at once if they belong to the weights.
  void reach(const WeightUnit& unit);

 private:
  template <class Function>
  void for_each_unit(const Tensor& all, const Function& function);

  const Exchange& exchange_;
  std::deque<WeightUnit>& units_;
  uint64_t messages_ = 0;
  Tensor magnitudes_;
  std::optional<StartedWork> work_;
};

}  // namespace halftone::parallel
