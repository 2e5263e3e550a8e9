// Copies the weights and buffers of one rank to all, and compares those of all ranks. Used by Replicate and Sharded.
#pragma once

#include <vector>

#include "nn/module.h"
#include "parallel/mesh/exchange.h"

namespace halftone::parallel {

// The device of all parameters. Throws STATE for no parameter, DEVICE for one on another device.
ContextDevice& device_of(const std::vector<NamedParameter>& parameters);

// `root` is a rank of the first group of Axis::kData. Every rank calls it. Throws the group's errors.
void broadcast_weights(const Exchange& exchange, const std::vector<NamedParameter>& parameters, int32_t root);
void broadcast_buffers(const Exchange& exchange, const std::vector<nn::NamedBuffer>& buffers, int32_t root,
                       uint64_t step);
// Throws COMM on every rank, naming the first rank whose weights are not bitwise those of rank 0, and the first
// parameter.
void compare_weights(const Exchange& exchange, const std::vector<NamedParameter>& parameters);

}  // namespace halftone::parallel
