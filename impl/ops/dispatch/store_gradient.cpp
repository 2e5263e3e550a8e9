#include "ops/dispatch/store_gradient.h"

#include <algorithm>

namespace halftone {

namespace {

bool accepts(const Tensor& memory, DType dtype, SinkDType accepted) {
  if (accepted == SinkDType::kOwn) return memory.dtype() == dtype;
  return (memory.dtype() == DType::kF64) == (dtype == DType::kF64);
}

bool begins_in(const Tensor& memory, const View& view) {
  const auto* begin = static_cast<const char*>(memory.data());
  const auto* end = begin + memory.numel() * static_cast<int64_t>(size_of(memory.dtype()));
  const auto* read = static_cast<const char*>(view.data);
  return read >= begin && read < end;
}

}  // namespace

GradSink usable_sink(const InputGrads& inputs, int input, DType dtype, std::initializer_list<View> reads,
                     SinkDType accepted) {
  GradSink sink = inputs.sink(input);
  const auto is_in_sink = [&](const View& view) { return begins_in(sink.tensor, view); };
  const bool is_usable = sink.tensor.defined() && accepts(sink.tensor, dtype, accepted) &&
                         std::none_of(reads.begin(), reads.end(), is_in_sink);
  return is_usable ? sink : GradSink{};
}

}  // namespace halftone
