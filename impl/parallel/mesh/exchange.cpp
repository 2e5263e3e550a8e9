#include "parallel/mesh/exchange.h"

#include "parallel/mesh/started_work.h"
#include "runtime/stream_scope.h"
#include "tensor/factory.h"

namespace halftone::parallel {

int32_t Exchange::model_rank() const noexcept {
  int32_t rank = 0, stride = 1;
  for (const Axis axis : kModelAxes) {
    rank += stride * mesh_.rank(axis);
    stride *= mesh_.size(axis);
  }
  return rank;
}

int32_t Exchange::model_size() const noexcept {
  int32_t size = 1;
  for (const Axis axis : kModelAxes) size *= mesh_.size(axis);
  return size;
}

CallOptions Exchange::options(Purpose purpose, uint64_t step, uint64_t part) const noexcept {
  const uint64_t hash = mixed(mixed(mixed(model_, static_cast<uint64_t>(purpose)), step), part);
  return {.stream = &current_stream(device_), .hash = hash, .is_deterministic = is_deterministic_ ? 1 : 0};
}

Tensor Exchange::start_states(std::span<const float> own, const CallOptions& options) const {
  const auto count = static_cast<int64_t>(own.size());
  const Tensor in = from_host(device_, DType::kF32, {count}, own.data(), Category::kCommunication);
  const Tensor out = empty(device_, DType::kF32, {count * size()}, Category::kCommunication);
  start_all_gather(in, out, options).wait();
  return out;
}

std::vector<int64_t> Exchange::gather(std::span<const int64_t> own, const CallOptions& options) const {
  std::vector<int64_t> all(own.begin(), own.end());
  for (const Axis axis : kModelAxes) {
    if (!has(axis)) continue;
    const auto count = static_cast<int64_t>(all.size());
    const Tensor in = from_host(device_, DType::kI64, {count}, all.data(), Category::kCommunication);
    const Tensor out = empty(device_, DType::kI64, {count * size(axis)}, Category::kCommunication);
    start_all_gather(in, out, options, axis).wait();
    all.resize(static_cast<size_t>(out.numel()));
    read_to_host(out, DType::kI64, all.data());
  }
  return all;
}

void Exchange::all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options) const {
  for (const Axis axis : kModelAxes) {
    if (has(axis)) start_all_reduce(tensor, op, options, axis).wait();
  }
}

void Exchange::broadcast_from_first(const Tensor& tensor, const CallOptions& options) const {
  for (const Axis axis : kModelAxes) {
    if (has(axis)) start_broadcast(tensor, 0, options, axis).wait();
  }
}

StartedWork Exchange::start_broadcast(const Tensor& tensor, int32_t root, const CallOptions& options, Axis axis) const {
  return {device_, {tensor}, [&](Work** work) { return group(axis).broadcast(options, root, tensor.view(), work); }};
}

StartedWork Exchange::start_all_reduce(const Tensor& tensor, ReduceOp op, const CallOptions& options, Axis axis) const {
  return {device_, {tensor}, [&](Work** work) {
            return group(axis).all_reduce(options, op, tensor.view(), tensor.view(), work);
          }};
}

StartedWork Exchange::start_all_gather(const Tensor& own, const Tensor& all, const CallOptions& options,
                                       Axis axis) const {
  return {
      device_, {own, all}, [&](Work** work) { return group(axis).all_gather(options, own.view(), all.view(), work); }};
}

StartedWork Exchange::start_reduce_scatter(const Tensor& all, const Tensor& own, ReduceOp op,
                                           const CallOptions& options) const {
  return {device_, {all, own}, [&](Work** work) {
            return group().reduce_scatter(options, op, all.view(), own.view(), work);
          }};
}

StartedWork Exchange::start_all_to_all(const Tensor& sent, const Tensor& received, const CallOptions& options) const {
  return {device_, {sent, received}, [&](Work** work) {
            return group().all_to_all(options, sent.view(), received.view(), work);
          }};
}

}  // namespace halftone::parallel
