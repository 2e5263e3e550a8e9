#include "parallel/mesh/weights.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "autograd/weights/weights.h"
#include "core/error.h"
#include "parallel/mesh/started_work.h"
#include "tensor/factory.h"

namespace halftone::parallel {
namespace {

void broadcast_all(const Exchange& exchange, const std::vector<Tensor>& tensors, int32_t root,
                   const CallOptions& options) {
  for (const Axis axis : kModelAxes) {
    if (!exchange.has(axis)) continue;
    const int32_t first = axis == Axis::kData ? root : 0;
    std::vector<StartedWork> works;
    works.reserve(tensors.size());
    for (const Tensor& tensor : tensors) works.push_back(exchange.start_broadcast(tensor, first, options, axis));
    for (StartedWork& work : works) work.wait();
  }
}

// A change of any bit changes the sum: every word is mixed with those before it.
uint64_t checksum_of(const Tensor& tensor, uint64_t sum) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype()));
  read_to_host(tensor, tensor.dtype(), bytes.data());
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    sum = mixed(sum, word);
  }
  return sum;
}

}  // namespace

ContextDevice& device_of(const std::vector<NamedParameter>& parameters) {
  if (parameters.empty()) fail(Code::kState, "parameters", "there is no parameter for ranks to train");
  ContextDevice& device = parameters.front().parameter->device();
  for (const NamedParameter& named : parameters) {
    if (&named.parameter->device() == &device) continue;
    fail(Code::kDevice, "parameters", "parameter %s is on another device than the first", named.name.c_str());
  }
  return device;
}

void compare_weights(const Exchange& exchange, const std::vector<NamedParameter>& parameters) {
  std::vector<int64_t> sums;
  for (const NamedParameter& named : parameters) {
    uint64_t sum = checksum_of(named.parameter->weights().tensor(), 0);
    if (named.parameter->weights().is_split()) sum = checksum_of(named.parameter->weights().remainder(), sum);
    sums.push_back(static_cast<int64_t>(sum));
  }
  const std::vector<int64_t> all = exchange.gather(sums, exchange.options(Purpose::kCheck));
  for (size_t i = sums.size(); i < all.size(); ++i) {
    if (all[i] == all[i % sums.size()]) continue;
    fail(Code::kComm, "ddp", "the weights of rank %zu differ from those of rank 0, first in %s", i / sums.size(),
         parameters[i % sums.size()].name.c_str());
  }
}

void broadcast_weights(const Exchange& exchange, const std::vector<NamedParameter>& parameters, int32_t root) {
  std::vector<Tensor> tensors;
  for (const NamedParameter& named : parameters) {
    tensors.push_back(named.parameter->weights().tensor());
    if (named.parameter->weights().is_split()) tensors.push_back(named.parameter->weights().remainder());
  }
  broadcast_all(exchange, tensors, root, exchange.options(Purpose::kWeights));
  // The copies in 16 bits follow the masters.
  for (const NamedParameter& named : parameters) {
    if (named.parameter->weights().is_split()) {
      named.parameter->weights().mark_updated();
    } else {
      named.parameter->weights().update_copy();
    }
  }
  for (const NamedParameter& named : parameters) named.parameter->weights().mark_current();
}

void broadcast_buffers(const Exchange& exchange, const std::vector<nn::NamedBuffer>& buffers, int32_t root,
                       uint64_t step) {
  std::vector<Tensor> tensors;
  for (const nn::NamedBuffer& buffer : buffers) tensors.push_back(buffer.tensor);
  broadcast_all(exchange, tensors, root, exchange.options(Purpose::kBuffers, step));
  for (const Tensor& tensor : tensors) tensor.bump_version();
}

}  // namespace halftone::parallel
