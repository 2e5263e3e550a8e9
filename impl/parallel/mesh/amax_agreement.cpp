#include "parallel/mesh/amax_agreement.h"

#include "tensor/factory.h"

namespace halftone::parallel {

AmaxAgreement::AmaxAgreement(const std::vector<nn::NamedBuffer>& buffers) {
  for (const nn::NamedBuffer& buffer : buffers) {
    if (buffer.role != nn::BufferRole::kAmaxHistory) continue;
    const Tensor& history = buffer.tensor;
    newest_.push_back(history.as_strided({history.size(0)}, {history.size(1)}, history.offset()));
  }
}

void AmaxAgreement::reach(const Exchange& exchange, uint64_t step) const {
  if (!is_needed()) return;
  const int64_t rows = newest_.front().size(0);
  const Tensor all =
      empty(exchange.device(), DType::kF32, {rows * static_cast<int64_t>(newest_.size())}, Category::kCommunication);
  const auto part = [&](size_t i) { return all.as_strided({rows}, {1}, static_cast<int64_t>(i) * rows); };
  for (size_t i = 0; i < newest_.size(); ++i) copy(newest_[i], part(i));
  exchange.all_reduce(all, ReduceOp::kMax, exchange.options(Purpose::kBuffers, step, 1));
  for (size_t i = 0; i < newest_.size(); ++i) copy(part(i), newest_[i]);
}

}  // namespace halftone::parallel
