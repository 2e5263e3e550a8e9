#include "parallel/exchange.h"

#include "tensor/factory.h"

namespace halftone::parallel {

CallOptions Exchange::options(Purpose purpose, uint64_t step, uint64_t part) const noexcept {
  const uint64_t hash = mixed(mixed(mixed(model_, static_cast<uint64_t>(purpose)), step), part);
  return {.stream = &current_stream(device_), .hash = hash};
}

std::vector<int64_t> Exchange::gather(std::span<const int64_t> own, const CallOptions& options) const {
  const auto count = static_cast<int64_t>(own.size());
  const Tensor in = from_host(device_, DType::kI64, {count}, own.data(), Category::kCommunication);
  const Tensor out = empty(device_, DType::kI64, {count * size()}, Category::kCommunication);
  StartedWork(device_, {in, out}, [&](Work** work) {
    return group_.all_gather(options, in.view(), out.view(), work);
  }).wait();
  std::vector<int64_t> all(own.size() * static_cast<size_t>(size()));
  read_to_host(out, DType::kI64, all.data());
  return all;
}

StartedWork Exchange::start_broadcast(const Tensor& tensor, int32_t root, const CallOptions& options) const {
  return {device_, {tensor}, [&](Work** work) { return group_.broadcast(options, root, tensor.view(), work); }};
}

StartedWork Exchange::start_all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options) const {
  return {device_, {tensor}, [&](Work** work) {
            return group_.all_reduce(options, op, tensor.view(), tensor.view(), work);
          }};
}

}  // namespace halftone::parallel
