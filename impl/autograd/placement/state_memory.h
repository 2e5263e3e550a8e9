// The place of the master weights and moments of some parameters while they are not used: host memory or a file, and
// not the device (offload). Tensors over such state have a storage without memory, but while it is fetched. An
// optimizer fetches, updates and puts back the state of one StateMemory after another. Used by one thread at a time.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace halftone {

class Parameter;
class StateStore;  // tensor/state_dict.h

class StateMemory : public RefCounted {
 public:
  // A moment of a parameter's shard, or the scales of its blocks.
  struct Part {
    int32_t moment;
    bool is_scales;

    friend bool operator==(const Part&, const Part&) = default;
  };
  // 1-D zeros for it, which are not fetched. The same memory for the same part. Throws OUT_OF_MEMORY, IO.
  virtual Tensor zeros(const Parameter& parameter, const Part& part, DType dtype, int64_t size) = 0;

  // Begins to bring all state into memory; fetch() waits for it. Throw OUT_OF_MEMORY, IO, DEVICE.
  virtual void start_fetch() = 0;
  virtual void fetch() = 0;
  // Begins to write changed state back; the end of it releases the memory. Throws IO; then the state is still in
  // memory.
  virtual void start_put_back() noexcept = 0;
  virtual void finish_put_back() = 0;

  // The elements of a tensor over this state, wherever they are.
  virtual Ref<const StateStore> store_of(const Tensor& state) = 0;
};

}  // namespace halftone
