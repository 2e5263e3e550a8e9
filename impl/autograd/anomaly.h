// Anomaly mode: while it is on, every recorded operation is checked when it has run, and every backward of one, so that
// the first that makes a NaN or an infinity is the one that fails. Each check waits for the device and reads the
// tensor: the mode is for finding a fault. Errors have the code NOT_FINITE.
#pragma once

#include <span>

#include "autograd/graph/node.h"
#include "autograd/scope.h"

namespace halftone {

inline bool in_anomaly_mode() noexcept { return scope().anomaly != Anomaly::kNothing; }

// The result of an operation. The message says whether an input held such a value already.
void check_result(const char* op, const Tensor& result, std::span<const Tensor* const> inputs);
// The gradients of a node's inputs, undefined where there is none. The message names the layer that recorded the node.
void check_gradients(const Node& node, std::span<const Tensor> input_grads);

}  // namespace halftone
