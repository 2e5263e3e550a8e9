// Runs backward: visits the graph behind a tensor in reverse order of recording, on the caller's thread, without
// recursion. Gradients that meet are added by a kernel, in the order of their consumers.
#pragma once

#include <functional>

#include "tensor/tensor.h"

namespace halftone {

// Adds the gradients of sum(root * gradient) to the leaves behind `root`. `gradient` may be undefined for a scalar.
// Unless `retain_graph`, what was saved is let go and a second backward is STATE. On failure the gradients of the
// leaves reached are invalid. Throws STATE inside a callback of a backward.
void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph);

// Called by a hook: `callback` runs once, on this thread, when every node of this backward has run, and before
// run_backward returns. Callbacks run in the order of these calls, and may queue more. If a callback throws, backward
// fails with it. If backward fails before, the callback is destroyed without a call, so what it owns must wait for work
// that uses gradients. Throws STATE outside a backward of this thread.
void call_at_end_of_backward(std::function<void()> callback);

}  // namespace halftone
