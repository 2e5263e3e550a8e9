// The losses of the batches of a step, or of an evaluation, each with its weight. They stay on the device until their
// mean is asked for, so that a batch does not wait for it. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/group/group.h"
#include "tensor/tensor.h"

namespace halftone::trainer {

class Losses {
 public:
  void clear() noexcept { list_.clear(); }
  // A scalar; `items` is the number of samples that it is the mean of.
  void add(const Tensor& loss, int64_t items) { list_.push_back({loss.detach(), items}); }

  // The sum of losses with `share` of each. Waits for the device.
  double sum(double share) const;
  // The mean over all items, also those of the other ranks if there is a group. Waits for the device and the ranks.
  double mean_by_items(const Group* group) const;
  int64_t items() const noexcept;

 private:
  struct Entry {
    Tensor loss;
    int64_t items;
  };
  std::vector<Entry> list_;
};

// The ranks' values together; the value itself without a group. All ranks call it, and wait.
double reduced_over_ranks(const Group* group, ReduceOp op, double value);

}  // namespace halftone::trainer
