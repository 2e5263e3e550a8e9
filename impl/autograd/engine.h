// Runs backward: visits the graph behind a tensor in reverse order of recording, on the caller's thread, without
// recursion. Gradients that meet are added by a kernel, in the order of their consumers.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// Adds the gradients of sum(root * gradient) to the leaves behind `root`. `gradient` may be undefined for a scalar.
// Unless `retain_graph`, what was saved is let go and a second backward is STATE. On failure the gradients of the
// leaves reached are invalid. Throws STATE inside a callback of a backward.
void run_backward(const Tensor& root, const Tensor& gradient, bool retain_graph);

}  // namespace halftone
