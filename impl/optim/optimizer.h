// What all optimizers share: the parameters they own, FP32 masters with a low-precision copy (master_full), state on the
// device, the pass over all gradients and the schedule. AdamW and SGD add their moments and their kernel.
#pragma once

#include <vector>

#include "autograd/parameter.h"
#include "backend/chunks.h"
#include "backend/kernels.h"

namespace halftone::optim {

class Optimizer : public RefCounted {
 public:
  // Allocates everything that steps need. Throws STATE for no parameters or one that has an optimizer, DTYPE_MISMATCH for
  // one that is not f32. `compute_dtype` f32 keeps no copy.
  Optimizer(std::vector<Ref<Parameter>> parameters, DType compute_dtype, double lr);
  ~Optimizer() override;

  void zero_grad() noexcept;
  // Updates the parameters that have a gradient.
  void step();

  // The Euclidean norm of all gradients; waits for the device.
  double grad_norm();
  // The learning rate of the next step; waits for the device.
  double lr() const;
  int64_t step_count() const;
  void set_schedule(const Schedule& schedule) noexcept { schedule_ = schedule; }

 protected:
  // Runs the kernel of this optimizer over the slots.
  virtual void update(ContextDevice& device, const MultiTensor<UpdateSlot>& slots, const OptimizerState* state) = 0;
  // Points a parameter's slot at its moments.
  virtual void add_moments(size_t parameter, UpdateSlot& slot) = 0;

  const std::vector<Ref<Parameter>>& parameters() const noexcept { return parameters_; }
  // An FP32 tensor of zeros for each parameter.
  std::vector<Tensor> zero_moments() const;

 private:
  // The parameters with a gradient, as kernels want them; planned anew only when other parameters have one.
  struct Plan {
    std::vector<size_t> parameters;
    std::vector<GradSlot> grads;
    std::vector<UpdateSlot> updates;
    std::vector<Chunk> chunks;
    Tensor partials;  // f64, one a chunk
  };

  void claim_parameters();
  void make_copies(DType compute_dtype);
  const Plan& current_plan();
  std::vector<size_t> parameters_with_grad() const;
  Plan make_plan(std::vector<size_t> with_grad);
  UpdateSlot make_slot(size_t parameter);
  ContextDevice& device() const { return parameters_.front()->master().device(); }
  OptimizerState read_state() const;

  std::vector<Ref<Parameter>> parameters_;
  double base_lr_;
  Schedule schedule_;
  Tensor state_;  // one OptimizerState, in bytes
  Plan plan_;
};

}  // namespace halftone::optim
