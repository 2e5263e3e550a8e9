// The stateless seam between ops and a backend: tables of plain function pointers, grouped by kind. A kernel writes into
// given outputs, allocates no result, knows no autograd, takes its stream first and its output last, and answers a Status
// by value. A null entry means "not implemented on this backend"; tensor/launch.h reports it with op and device.
// Ops check shapes and dtypes before they call; a kernel's REQUIRES are the ops' promises, not checked again.
#pragma once

#include "backend/device.h"
#include "backend/formula/grad_scaler.h"
#include "backend/formula/optimizer_state.h"
#include "backend/view.h"
#include "core/philox.h"

namespace halftone {

struct ConvertKernels {
  // out = in, converted. Any dtype to any dtype, any strides (0 on `in` repeats), equal shapes. Floats round to nearest
  // even; float to integer truncates towards zero and saturates, NaN gives 0; anything to bool is "is not zero".
  Status (*cast)(Stream&, const View& in, const View& out) noexcept;
  Status (*fill)(Stream&, double value, const View& out) noexcept;
};

enum class UnaryOp : int32_t { kNegate, kRelu, kGeluErf, kGeluTanh };

// The backward entries take (grad_output, input of the forward op).
enum class BinaryOp : int32_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kReluBackward,
  kGeluErfBackward,
  kGeluTanhBackward,
};

// Inputs may have other dtypes than the output: they are widened to the compute type that the output's dtype names (f64:
// double, other floats: FP32, integers: int64) and the result is rounded once. Shapes equal the output's; broadcasting is
// a stride of 0. An output may be one of the inputs, element on element.
struct ElementwiseKernels {
  Status (*unary)(Stream&, UnaryOp op, const View& x, const View& out) noexcept;
  Status (*binary)(Stream&, BinaryOp op, const View& a, const View& b, const View& out) noexcept;
  // out = x * scale + shift, for a float output.
  Status (*affine)(Stream&, double scale, double shift, const View& x, const View& out) noexcept;
};

struct ReduceKernels {
  // out = scale * sum of in over every dimension in which out has size 1 and in has another; ranks are equal. Floats
  // accumulate pairwise in FP32 (f64: double), integers in int64 (scale is then ignored). An empty sum is 0.
  Status (*sum)(Stream&, const View& in, double scale, Store store, const View& out) noexcept;
  // out (f32 scalar) = share of rows of logits [n, c] whose largest entry (the first of equals; NaN counts as largest)
  // stands at targets[n] (i64). Targets outside [0, c) are INVALID_ARGUMENT. NaN where n is 0.
  Status (*accuracy)(Stream&, const View& logits, const View& targets, const View& out) noexcept;
};

enum class Activation : int32_t { kNone, kRelu, kGeluErf, kGeluTanh };

// c = activation(a b + bias) + residual, or the same added to c.
struct GemmArgs {
  View a;              // [m, k], any strides
  View b;              // [k, n], any strides
  View bias = {};      // [n]; data is null where there is none
  View residual = {};  // [m, n]; data is null where there is none
  Activation activation = Activation::kNone;
  Store store = Store::kWrite;
  View c;  // [m, n], any strides
};

// f64 needs every view f64. Otherwise a, b, bias, residual and c are f32, f16 or bf16 in any mixture; products accumulate
// in FP32 and are rounded once, when c is stored. k = 0 gives activation(bias) + residual. Where a and b are bf16 the
// CPU may take dot products (cpu/gemm/dot.h): bf16 subnormals, and sums below 2^-126, then count as zero.
struct GemmKernels {
  // Bytes of scratch that `run` needs for these arguments.
  size_t (*workspace)(Stream&, const GemmArgs& args) noexcept;
  Status (*run)(Stream&, const GemmArgs& args, void* workspace) noexcept;
};

// Softmax and its relatives along one dimension; all arithmetic in FP32 (f64: double). A row that is -inf throughout
// gives NaN, as in PyTorch. Inputs and outputs are floats of any mixture, any strides.
struct NormKernels {
  Status (*softmax)(Stream&, const View& x, int dim, const View& out) noexcept;
  Status (*log_softmax)(Stream&, const View& x, int dim, const View& out) noexcept;
  // `result` is the forward op's result.
  Status (*softmax_backward)(Stream&, const View& grad_output, const View& result, int dim,
                             const View& grad_input) noexcept;
  Status (*log_softmax_backward)(Stream&, const View& grad_output, const View& result, int dim,
                                 const View& grad_input) noexcept;
  // logits [n, c] float, targets [n] i64. out_losses [n] = out_log_sum_exp - logits[target]; both f32 (f64 for f64
  // logits), contiguous. A target outside [0, c) is INVALID_ARGUMENT, found before anything is written.
  Status (*cross_entropy)(Stream&, const View& logits, const View& targets, const View& out_log_sum_exp,
                          const View& out_losses) noexcept;
  // grad_logits = (exp(logits - log_sum_exp) - one_hot(target)) * grad_output * scale; grad_output is a scalar view.
  Status (*cross_entropy_backward)(Stream&, const View& grad_output, double scale, const View& logits,
                                   const View& targets, const View& log_sum_exp, const View& grad_logits) noexcept;
};

struct IndexKernels {
  // out[i, ...] = in[indices[i], ...]; indices [n] i64 contiguous. An index outside [0, in.shape[0]) is INVALID_ARGUMENT.
  // in and out have one dtype and are contiguous.
  Status (*gather_rows)(Stream&, const View& in, const View& indices, const View& out) noexcept;
};

// Element i (in row-major order) of the output depends on (key, i) alone.
struct RandomKernels {
  // Uniform in [low, high): low + (high - low) * u, u on the 2^-24 grid, rounded to the output's dtype.
  Status (*uniform)(Stream&, PhiloxKey key, double low, double high, const View& out) noexcept;
  // Box-Muller on pairs of uniforms.
  Status (*normal)(Stream&, PhiloxKey key, double mean, double std, const View& out) noexcept;
};

// A multi-tensor list of chunks (backend/chunks.h) over `slots`.
template <class Slot>
struct MultiTensor {
  const Slot* slots;
  const struct Chunk* chunks;
  int64_t slot_count;
  int64_t chunk_count;
};

// One gradient, read only.
struct GradSlot {
  const void* grad;
  DType grad_dtype;
  int32_t parameter;  // its number, for the verdict
  int64_t size;
};

// A moment in memory: f32, bf16, or 8-bit codes (i8 signed, u8 not negative) with an FP32 scale for each block of 256
// elements (formula/block_code.h). All null where the optimizer has no such moment.
struct MomentSlot {
  void* data;
  float* scales;
  DType dtype;
};

// One parameter's range in the update pass; pointers are to contiguous memory of `size` elements.
struct UpdateSlot {
  const void* grad;
  float* master;       // FP32 weights, updated in place; null where compute and remainder hold them
  void* compute;       // the 16-bit copy that the pass writes; null where there is none
  int16_t* remainder;  // with compute (bf16) the weights, by formula/split_master.h; null where there is a master
  MomentSlot moment1;  // AdamW: first moment; SGD: momentum buffer
  MomentSlot moment2;  // AdamW: second moment
  DType grad_dtype;
  DType compute_dtype;
  int64_t size;
  int32_t group;      // index into the groups
  int32_t parameter;  // with seed, step and element what stochastic rounding is keyed by
  uint64_t seed;
  int64_t first_block;  // where in the parameter the range begins, in blocks of 256
};

struct OptimKernels {
  // state->grad_norm_squared = sum over all gradients of block sums (256 elements) in double; found_inf = 1 where any
  // element is not finite, with the first such parameter and what its first such element is. `partials` holds one double
  // a chunk.
  Status (*grad_norm)(Stream&, const MultiTensor<GradSlot>&, double* partials, OptimizerState* state) noexcept;
  // Advances step and schedule position unless found_inf, and computes the step's factors.
  Status (*begin_step)(Stream&, const Schedule& schedule, OptimizerState* state) noexcept;
  // Ends what begin_step began: gradient factor and verdict are those of the next step.
  Status (*end_step)(Stream&, OptimizerState* state) noexcept;
  // formula/grad_scaler.h on the device, so that no step waits for the host.
  Status (*unscale)(Stream&, ScalerState* scaler, OptimizerState* state) noexcept;
  Status (*clip_by_norm)(Stream&, double max_norm, OptimizerState* state) noexcept;
  Status (*update_scale)(Stream&, const ScalerSettings& settings, ScalerState* scaler) noexcept;
  Status (*adamw)(Stream&, const MultiTensor<UpdateSlot>&, const AdamwGroup* groups, const OptimizerState* state) noexcept;
  Status (*sgd)(Stream&, const MultiTensor<UpdateSlot>&, const SgdGroup* groups, const OptimizerState* state) noexcept;
  // formula/split_master.h over contiguous views: master f32, high bf16, remainder i16.
  Status (*split_master)(Stream&, const View& master, const View& out_high, const View& out_remainder) noexcept;
  Status (*join_master)(Stream&, const View& high, const View& remainder, const View& out_master) noexcept;
};

struct Kernels {
  ConvertKernels convert;
  ElementwiseKernels elementwise;
  ReduceKernels reduce;
  GemmKernels gemm;
  NormKernels norm;
  IndexKernels index;
  RandomKernels random;
  OptimKernels optim;
};

}  // namespace halftone
