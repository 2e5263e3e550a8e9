// What all optimizers share: the parameters they own, in what precision those are kept, state on the device, the pass
// over all gradients and the schedule. AdamW and SGD add their moments and their kernel.
#pragma once

#include <vector>

#include "autograd/parameter.h"
#include "backend/chunks.h"
#include "backend/kernels.h"

namespace halftone::optim {

// What an optimizer keeps its parameters in. Arithmetic is FP32 whatever this says.
struct Precision {
  DType compute_dtype = DType::kF32;  // of the copy for autocast; f32 keeps none
  DType grad_dtype = DType::kF32;
  DType moment1_dtype = DType::kF32;  // f32, bf16, or i8 for codes with a scale a block
  bool splits_master = false;         // weights as bf16 and remainder; with compute_dtype bf16 only
  DType moment2_dtype = DType::kF32;  // f32, or u8 for codes with a scale a block
};

// One moment of every parameter.
struct Moments {
  std::vector<Tensor> values;
  std::vector<Tensor> scales;  // f32, one for each block of 256 elements; empty but for 8-bit values

  MomentSlot slot(size_t parameter) const;
};

class Optimizer : public RefCounted {
 public:
  // Allocates everything that steps need. Throws STATE for no parameters or one that has an optimizer, DTYPE_MISMATCH
  // for one that is not f32.
  Optimizer(std::vector<Ref<Parameter>> parameters, const Precision& precision, double lr);
  ~Optimizer() override;

  void zero_grad();
  // Updates the parameters that have a gradient, unless a verdict says that some are not finite.
  void step();

  // Pass 1 over the gradients for a scaler: from here to the step their factor is 1/scale, and the verdict holds.
  void unscale(ScalerState* scaler);
  // Whether unscale ran and neither a step nor zero_grad has since.
  bool has_verdict() const noexcept { return has_verdict_; }
  // Takes unscale back, for a step that is not to come.
  void forget_verdict();
  // Lowers the factor so that the norm of all gradients together is at most `max_norm`.
  void clip_grad_norm(double max_norm);
  // Bounds every gradient, after the factor, to +-`value` from the next step on; infinity lifts the bound.
  void set_clip_value(double value);

  // The Euclidean norm of all gradients as the next step will see them, but for the bound; waits for the device.
  double grad_norm();
  // What the next step multiplies stored gradients by; waits for the device.
  double grad_factor() const { return read_state().grad_factor; }

  // What the last step did; waits for the device.
  struct Outcome {
    bool skipped = false;
    NotFinite kind = NotFinite::kNothing;
    const Parameter* offending = nullptr;  // the first parameter whose gradient was not finite
  };
  Outcome outcome() const;
  ContextDevice& device() const { return parameters_.front()->weights().device(); }
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
  Moments zero_moments(DType dtype) const;

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
  void arrange(const Precision& precision);
  void make_copies(DType compute_dtype);
  const Plan& current_plan();
  std::vector<size_t> parameters_with_grad() const;
  Plan make_plan(std::vector<size_t> with_grad);
  UpdateSlot make_slot(size_t parameter);
  OptimizerState read_state() const;
  void write_state(const OptimizerState& state);
  OptimizerState* state() const { return static_cast<OptimizerState*>(state_.data()); }
  // Runs pass 1 into `state`.
  void check_gradients(const Plan& plan, OptimizerState* state);

  std::vector<Ref<Parameter>> parameters_;
  double base_lr_;
  Schedule schedule_;
  Tensor state_;  // one OptimizerState, in bytes
  Plan plan_;
  bool has_verdict_ = false;  // unscale ran and no step has since
};

}  // namespace halftone::optim
