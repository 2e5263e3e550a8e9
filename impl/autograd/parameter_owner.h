// The claim of an optimizer, or of a sharded model, to a parameter. A parameter has one owner at a time. Any thread may
// claim.
#pragma once

#include <atomic>

#include "autograd/update_rule.h"

namespace halftone {

class ParameterOwner {
 public:
  // Returns true where the parameter was free.
  bool claim() noexcept { return !is_claimed_.exchange(true); }
  void release() noexcept {
    rule_ = nullptr;
    is_claimed_.store(false);
  }
  // The optimizer that has claimed the parameter; null until it is set.
  const UpdateRule* rule() const noexcept { return rule_; }
  void set_rule(const UpdateRule* rule) noexcept { rule_ = rule; }

 private:
  std::atomic<bool> is_claimed_{false};
  const UpdateRule* rule_ = nullptr;
};

}  // namespace halftone
