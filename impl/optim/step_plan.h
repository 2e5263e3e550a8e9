// The parameters with a gradient, as the kernels of a step want them: lists in device memory, planned anew only when
// other parameters have a gradient. A gradient may have other memory in each step, because zero_grad releases it: then
// its place is written into the lists. Used by one thread at a time.
#pragma once

#include <vector>

#include "backend/chunks.h"
#include "backend/kernels/optim.h"
#include "optim/device_array.h"
#include "optim/owned_parameters.h"
#include "optim/update_windows.h"

namespace halftone::optim {

class RecordedUpdate;

class StepPlan {
 public:
  // Brings the lists up to date. `recording` is the part of the optimizer in the recording of this thread; null if
  // there is none. Allocates nothing where the parameters have the gradients of the last call. Throws STATE where a
  // gradient is invalid or there is none, OUT_OF_MEMORY.
  void follow(ContextDevice& device, const OwnedParameters& owned, RecordedUpdate* recording);

  // The numbers of the parameters that the step updates.
  const std::vector<size_t>& parameters() const noexcept { return lists_.parameters; }
  MultiTensor<GradSlot> grads() const { return list(lists_.grads); }
  // Empty if there are windows.
  MultiTensor<UpdateSlot> updates() const { return list(lists_.updates); }
  // ShardRanks::set_of all parameters, if there are no windows.
  size_t set() const noexcept { return lists_.set; }
  // If state is offloaded, or the parameters are of several sets.
  const std::vector<UpdateWindow>& windows() const noexcept { return lists_.windows; }
  // One for each chunk of grads().
  const DeviceArray<NormNode>& nodes() const noexcept { return lists_.nodes; }
  // f64, one for each chunk.
  const Tensor& partials() const noexcept { return lists_.partials; }
  double* partial_sums() const { return static_cast<double*>(lists_.partials.data()); }

 private:
  struct Lists {
    std::vector<size_t> parameters;
    DeviceArray<GradSlot> grads;
    DeviceArray<UpdateSlot> updates;
    size_t set = 0;
    std::vector<UpdateWindow> windows;
    DeviceArray<Chunk> chunks;
    DeviceArray<NormNode> nodes;
    Tensor partials;
    bool is_recorded = false;  // recorded work reads the lists, which must not change any more
  };
  // kMoved: the same parameters have gradients, but some in other memory, or in another dtype.
  enum class State { kCurrent, kMoved, kOther };

  static Lists make(ContextDevice& device, const OwnedParameters& owned);
  State state(const OwnedParameters& owned) const;
  // Writes the places of the gradients into the lists. REQUIRES: kMoved, no windows, and not recorded.
  void move(const OwnedParameters& owned, RecordedUpdate* recording);
  template <class Slot>
  MultiTensor<Slot> list(const DeviceArray<Slot>& slots) const {
    return {.slots = slots.device(),
            .chunks = lists_.chunks.device(),
            .slot_count = slots.size(),
            .chunk_count = lists_.chunks.size()};
  }

  Lists lists_;
};

}  // namespace halftone::optim
