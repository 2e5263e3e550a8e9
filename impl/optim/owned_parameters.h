// The parameters that one optimizer owns, by group, with the count of updates of each on the device. All are on one
// device and belong to the same ranks. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "optim/owned_parameter.h"

namespace halftone::optim {

// Makes room for further elements, so that adding them does not throw. Grows by half at least, since many groups may be
// added one after another.
template <class Element>
void make_room(std::vector<Element>& list, size_t further) {
  const size_t needed = list.size() + further;
  if (needed > list.capacity()) list.reserve(std::max(needed, list.capacity() + list.capacity() / 2));
}

// Throws STATE where the group has no parameter.
ContextDevice& device_of(const ParameterGroup& group);

class OwnedParameters {
 public:
  OwnedParameters();
  ~OwnedParameters();

  // Owns the parameters as a group; they are free and as they were where this throws. `rule` outlives them.
  void add(ContextDevice& device, const ParameterGroup& group, const Moments& kept, const UpdateRule& rule);

  const std::vector<OwnedParameter>& list() const noexcept { return list_; }
  const OwnedParameter& operator[](size_t number) const noexcept { return list_[number]; }
  // That share the parameters; null if this process has all of them.
  const Ref<ShardRanks>& ranks() const noexcept { return ranks_; }

  // The numbers of those with a gradient. Throws STATE where a gradient is invalid, or there is none.
  std::vector<size_t> with_gradient() const;
  void require_gradients() const;
  // Drops the gradients, with their memory if it is not shared.
  void zero_grad();

  // The updates of each parameter. Waits for the device.
  std::vector<int64_t> update_counts() const;
  // REQUIRES: one for each parameter.
  void set_update_counts(const std::vector<int64_t>& counts);

 private:
  void require_same_ranks(const ParameterGroup& group) const;

  std::vector<OwnedParameter> list_;
  std::vector<Tensor> update_counts_;  // i64, of each group: those of its parameters, which are one after another
  Ref<ShardRanks> ranks_;
};

}  // namespace halftone::optim
