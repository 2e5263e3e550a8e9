// The statistics of a model's tensors in one step: kernels write them in device memory while the step runs, and the CPU
// reads them when they have arrived. Used by one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/monitor/device_list.h"
#include "analysis/statistics/tensor_record.h"
#include "backend/formula/optimizer_state.h"

namespace halftone::analysis {

// A tensor's record, and the numbers of what kernels write about it in the lists of its sample.
struct SampledTensor {
  TensorRecord record;
  size_t summary = 0;
  std::vector<size_t> norms = {};  // of each tensor that was added

  struct Update {
    size_t counts;
    size_t norm;
  };
  std::optional<Update> update = {};

  // The gradient of the next step.
  struct Next {
    size_t norm;
    size_t difference;  // the norm of the difference of both
  };
  std::optional<Next> next = {};
};

class Sample {
 public:
  explicit Sample(ContextDevice& device);
  ~Sample();
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  ContextDevice& device() const noexcept { return device_; }
  // Forgets everything and keeps the memory. REQUIRES: nothing was sent, or it has arrived.
  void begin(int64_t step) noexcept;
  // Returns its number. Throws OUT_OF_MEMORY, as the functions below.
  size_t add(TensorKind kind, std::string name, DType dtype);
  SampledTensor& operator[](size_t number) noexcept { return tensors_[number]; }

  // Adds the elements of a float tensor of this device to a record.
  void summarize(size_t number, const Tensor& tensor);
  // The update of a parameter. All have one shape.
  void summarize_update(size_t number, const Tensor& before, const Tensor& after, const Tensor& gradient);
  // The next step's gradient of the record's parameter.
  void compare(size_t number, const Tensor& gradient, const Tensor& next);
  // Copies an optimizer's state, in which the update of the step, or of the next step, left its outcome.
  void add_state(const Tensor& state);
  void add_next_state(const Tensor& state);

  // The step is over: queues the copies to host memory.
  void send();
  // REQUIRES: sent. Throw DEVICE.
  bool has_arrived() const;
  void wait() const;
  // REQUIRES: has arrived.
  TensorSample read() const;

 private:
  // The number of the norm.
  size_t norm_of(const Tensor& tensor);
  size_t norm_of_difference(const Tensor& a, const Tensor& b);
  std::optional<size_t> copy_of(const Tensor& state);
  void finish(const SampledTensor& sampled, TensorRecord& record) const;
  std::optional<double> noise_of(const SampledTensor& sampled, double norm) const;

  ContextDevice& device_;
  Ref<Context> context_;  // keeps device_ alive
  int64_t step_ = 0;
  std::vector<SampledTensor> tensors_;
  DeviceList<TensorSummary> summaries_;
  DeviceList<UpdateSummary> updates_;
  DeviceList<double> norms_;
  DeviceList<OptimizerState> states_;
  std::optional<size_t> state_;
  std::optional<size_t> next_state_;
  Event* arrival_ = nullptr;
};

}  // namespace halftone::analysis
