// Exponential moving averages of weights, in FP32 whatever the weights are kept in, for evaluation. Used by one thread
// at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/kernels/optim.h"
#include "optim/device_array.h"
#include "optim/owned_parameter.h"

namespace halftone::optim {

struct EmaSettings {
  double decay;
  bool warms_up;  // the n-th update, counted from 1, decays by (1 + n) / (10 + n) where that is less
};

// A tensor beside the parameters that is averaged as they are, such as running statistics. One of integers, such as a
// counter, has no average: it is put back when the weights are.
struct AveragedBuffer {
  std::string name;
  Tensor tensor;
  Tensor average = {};  // in f32; between two swaps this has the tensor's own values
};

class Ema final : public RefCounted {
 public:
  // Averages that begin as the weights and buffers. Throws STATE for no parameters, DTYPE_MISMATCH for weights of f64
  // and buffers that are not f32, DEVICE for parameters or buffers on several devices, UNSUPPORTED for offloaded state
  // and buffers that are not contiguous, read-only or over the memory of another, OUT_OF_MEMORY.
  Ema(std::vector<NamedParameter> parameters, const EmaSettings& settings, std::vector<AveragedBuffer> buffers = {});

  size_t size() const noexcept { return parameters_.size(); }
  const std::string& name(size_t index) const noexcept { return parameters_[index].name; }
  const Parameter& parameter(size_t index) const noexcept { return *parameters_[index].parameter; }
  // Live, in f32, of the shard alone if ranks share the parameter; between two swaps these are the weights.
  const Tensor& average(size_t index) const noexcept { return averages_[index]; }
  const std::vector<AveragedBuffer>& buffers() const noexcept { return buffers_; }
  int64_t update_count() const noexcept { return updates_; }
  void set_update_count(int64_t count) noexcept { updates_ = count; }
  // average = decay average + (1 - decay) weight. Allocates no tensor. Throws STATE while swapped.
  void update();
  // A copy in f32. Throws STATE while swapped, UNSUPPORTED for a shard. REQUIRES: index < size().
  Tensor read(size_t index) const;
  // Exchanges the weights and buffers with the averages. A second swap restores both exactly, and counters as they were
  // at the first. Throws OUT_OF_MEMORY, and nothing has changed; and if ranks share weights, whose ranks all call this,
  // errors of their group.
  void swap();
  bool is_swapped() const noexcept { return swapped_; }

 private:
  ContextDevice& device() const { return parameters_.front().parameter->device(); }
  void require_in_place(const char* what) const;
  // The weights as they are kept now, with the averages in the first moment's place; valid until the next call.
  MultiTensor<UpdateSlot> slots();
  void require_memory_of_its_own(const AveragedBuffer& buffer) const;
  void tell_ranks() const;
  void save_narrow();
  void restore_narrow();
  void save_counters();
  void restore_counters();
  std::vector<Tensor> averages_in_narrow() const;

  std::vector<NamedParameter> parameters_;
  std::vector<AveragedBuffer> buffers_;
  std::vector<Tensor> counters_;
  EmaSettings settings_;
  std::vector<Tensor> averages_;  // f32
  std::vector<Tensor> saved_;     // while swapped: weights of 16 bits, which could not hold what they hold afterwards
  std::vector<Tensor> saved_counters_;  // while swapped
  DeviceArray<UpdateSlot> slots_;
  DeviceArray<Chunk> chunks_;
  int64_t updates_ = 0;
  bool swapped_ = false;
};

}  // namespace halftone::optim
