// Runs backward: visits the graph behind a tensor in reverse order of recording, on the caller's thread, without
// recursion. Gradients that meet are added by a kernel, in the order of their consumers.
#pragma once

#include <functional>
#include <vector>

#include "tensor/tensor.h"

namespace halftone {

// Adds the gradients of sum(root * gradient) to the leaves behind `root`. `gradient` may be undefined for a scalar.
// Unless `retain_graph`, what was saved is let go and a second backward is STATE. On failure the gradients of the
// leaves reached are invalid. Throws STATE inside a callback of a backward.
void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph);

// The gradient of an input that none of the outputs was computed from.
enum class Unused { kError, kUndefined, kZeros };

struct GradientsCall {
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;  // of the outputs; empty, or undefined for a scalar, means 1
  std::vector<Tensor> inputs;     // leaves or results of operations
  bool retain_graph = false;
  Unused unused = Unused::kError;
};

// Returns the gradients of sum(outputs * gradients) to the inputs, each in the input's dtype and a tensor of its own.
// Adds nothing to leaves, whose hooks on complete gradients do not run; hooks on the gradients of tensors do.
// Operations that do not lead to an input neither run nor let go of what they saved. Throws STATE inside a callback of
// a backward, and for an unused input if `unused` says so, after the run.
std::vector<Tensor> run_gradients(const GradientsCall& call);

// Called by a hook: `callback` runs once, on this thread, when every node of this backward has run, and before
// run_backward returns. Callbacks run in the order of these calls, and may queue more. If a callback throws, backward
// fails with it. If backward fails before, the callback is destroyed without a call, so what it owns must wait for work
// that uses gradients. Throws STATE outside a backward of this thread.
void call_at_end_of_backward(std::function<void()> callback);

}  // namespace halftone
