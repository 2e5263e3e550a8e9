#include "parallel/mesh/amax_agreement.h"

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {

AmaxAgreement::AmaxAgreement(const std::vector<nn::NamedBuffer>& buffers, bool is_deterministic)
    : is_deterministic_(is_deterministic) {
  for (const nn::NamedBuffer& buffer : buffers) {
    if (buffer.role == nn::BufferRole::kAmaxHistory) histories_.push_back(buffer.tensor);
  }
}

// Forwards without a backward that was reduced have noted magnitudes, and the next scales would differ among ranks. A
// microbatch may have such forwards: its scales are its own.
void AmaxAgreement::begin_forward(const Exchange& exchange, uint64_t step, bool goes_on) {
  if (!is_needed()) return;
  if (is_stale_ && !is_deterministic_) reach(exchange, step);
  if (!is_stale_ && is_deterministic_) hold(exchange.device(), goes_on);
  is_stale_ = true;
}

void AmaxAgreement::end_backward(const Exchange& exchange, uint64_t step) {
  if (!is_needed()) return;
  reach(exchange, step);
  is_stale_ = false;
  if (!most_.defined()) return;
  const Tensor all = joined(exchange.device());
  launch("agree_on_amax", all.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kMaximum,
         all.view(), most_.view(), all.view());
  set(all);
}

// The forward moves the histories on from where the step's first one found them.
void AmaxAgreement::hold(ContextDevice& device, bool goes_on) {
  most_ = goes_on && at_begin_.defined() ? joined(device) : Tensor();
  if (most_.defined()) return set(at_begin_);
  at_begin_ = joined(device);
}

void AmaxAgreement::reach(const Exchange& exchange, uint64_t step) const {
  const Tensor all = joined(exchange.device());
  exchange.all_reduce(all, ReduceOp::kMax, exchange.options(Purpose::kBuffers, step, 1));
  set(all);
}

Tensor AmaxAgreement::joined(ContextDevice& device) const {
  int64_t begin = 0;
  for (const Tensor& history : histories_) begin += history.numel();
  const Tensor all = empty(device, DType::kF32, {begin}, Category::kCommunication);
  begin = 0;
  for (const Tensor& history : histories_) {
    copy(history, all.as_strided(history.shape(), contiguous_strides(history.shape()), begin));
    begin += history.numel();
  }
  return all;
}

void AmaxAgreement::set(const Tensor& joined) const {
  int64_t begin = 0;
  for (const Tensor& history : histories_) {
    copy(joined.as_strided(history.shape(), contiguous_strides(history.shape()), begin), history);
    begin += history.numel();
  }
}

}  // namespace halftone::parallel
