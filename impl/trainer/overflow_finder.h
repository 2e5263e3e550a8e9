// Finds the module in which a step overflowed. An infinity in a result makes all later results and all gradients NaN,
// and one in a gradient all gradients of the modules before. So the module is the first one whose result was not
// finite, or else the last one with a gradient that is not. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/group/group.h"
#include "nn/module.h"

namespace halftone::trainer {

class OverflowFinder {
 public:
  // A module without parts, and its path in the model.
  struct Leaf {
    std::string path;
    Ref<nn::Module> module;
  };

  explicit OverflowFinder(nn::Module& model);
  ~OverflowFinder();

  const std::vector<Leaf>& leaves() const noexcept { return leaves_; }
  // Looks at the results of the modules from now on, or no longer: two small operations for each of them.
  void watch(bool watches);
  // Forgets the results so far.
  void clear() noexcept { results_.clear(); }
  // The number of the module; -1 if it is unknown: a result of a step that was not watched, or an infinity in the loss
  // alone. Waits for the device. `loss_is_finite`: of this rank. All ranks of a group call it, and find the same.
  int64_t find(bool loss_is_finite, const Group* group) const;

 private:
  void look(size_t number, std::span<const Tensor> outputs);
  int64_t first_result() const;
  int64_t last_gradient() const;

  std::vector<Leaf> leaves_;
  std::vector<Ref<Hook>> hooks_;
  std::vector<std::pair<size_t, Tensor>> results_;  // in the order of the forward: a leaf, and bool: all are finite
};

}  // namespace halftone::trainer
