#include "parallel/mesh/exchange.h"

#include "tensor/factory.h"

namespace halftone::parallel {

CallOptions Exchange::options(Purpose purpose, uint64_t step, uint64_t part) const noexcept {
  const uint64_t hash = mixed(mixed(mixed(model_, static_cast<uint64_t>(purpose)), step), part);
  return {.stream = &current_stream(device_), .hash = hash, .is_deterministic = is_deterministic_ ? 1 : 0};
}

Tensor Exchange::start_states(std::span<const float> own, const CallOptions& options) const {
  const auto count = static_cast<int64_t>(own.size());
  const Tensor in = from_host(device_, DType::kF32, {count}, own.data(), Category::kCommunication);
  const Tensor out = empty(device_, DType::kF32, {count * group_.size()}, Category::kCommunication);
  start_all_gather(in, out, options).wait();
  return out;
}

std::vector<int64_t> Exchange::gather(std::span<const int64_t> own, const CallOptions& options) const {
  const std::vector<int64_t> all = gather_in(group_, own, options);
  return replicas_ == nullptr ? all : gather_in(*replicas_, all, options);
}

std::vector<int64_t> Exchange::gather_in(ProcessGroup& group, std::span<const int64_t> own,
                                         const CallOptions& options) const {
  const auto count = static_cast<int64_t>(own.size());
  const Tensor in = from_host(device_, DType::kI64, {count}, own.data(), Category::kCommunication);
  const Tensor out = empty(device_, DType::kI64, {count * group.size()}, Category::kCommunication);
  StartedWork(device_, {in, out}, [&](Work** work) {
    return group.all_gather(options, in.view(), out.view(), work);
  }).wait();
  std::vector<int64_t> all(own.size() * static_cast<size_t>(group.size()));
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

StartedWork Exchange::start_all_gather(const Tensor& own, const Tensor& all, const CallOptions& options) const {
  return {device_, {own, all}, [&](Work** work) { return group_.all_gather(options, own.view(), all.view(), work); }};
}

StartedWork Exchange::start_reduce_scatter(const Tensor& all, const Tensor& own, ReduceOp op,
                                           const CallOptions& options) const {
  return {device_, {all, own}, [&](Work** work) {
            return group_.reduce_scatter(options, op, all.view(), own.view(), work);
          }};
}

StartedWork Exchange::start_replicas_all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options) const {
  return {device_, {tensor}, [&](Work** work) {
            return replicas_->all_reduce(options, op, tensor.view(), tensor.view(), work);
          }};
}

void Exchange::broadcast_from_first(const Tensor& tensor, const CallOptions& options) const {
  start_broadcast(tensor, 0, options).wait();
  if (replicas_ == nullptr) return;
  StartedWork(device_, {tensor}, [&](Work** work) {
    return replicas_->broadcast(options, 0, tensor.view(), work);
  }).wait();
}

}  // namespace halftone::parallel
