#include "parallel/mesh/amax_agreement.h"

#include "tensor/factory.h"

namespace halftone::parallel {

AmaxAgreement::AmaxAgreement(const std::vector<nn::NamedBuffer>& buffers) {
  for (const nn::NamedBuffer& buffer : buffers) {
    if (buffer.role == nn::BufferRole::kAmaxHistory) histories_.push_back(buffer.tensor);
  }
}

// Forwards without synchronisation have noted several magnitudes since the last agreement.
void AmaxAgreement::reach(const Exchange& exchange, uint64_t step) const {
  if (!is_needed()) return;
  int64_t total = 0;
  for (const Tensor& history : histories_) total += history.numel();
  const Tensor all = empty(exchange.device(), DType::kF32, {total}, Category::kCommunication);
  const auto for_each_part = [&](const auto& f) {
    int64_t begin = 0;
    for (const Tensor& history : histories_) {
      f(history, all.as_strided(history.shape(), contiguous_strides(history.shape()), begin));
      begin += history.numel();
    }
  };
  for_each_part([](const Tensor& history, const Tensor& part) { copy(history, part); });
  exchange.all_reduce(all, ReduceOp::kMax, exchange.options(Purpose::kBuffers, step, 1));
  for_each_part([](const Tensor& history, const Tensor& part) { copy(part, history); });
}

}  // namespace halftone::parallel
