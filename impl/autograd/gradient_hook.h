// Hooks on the gradient that arrives at a tensor in backward.
#pragma once

#include <functional>

#include "autograd/graph/hook_list.h"
#include "tensor/tensor.h"

namespace halftone {

// `hook` is called once per backward that brings a gradient, with all of it. It returns a gradient that replaces it, or
// an undefined tensor to keep it. Throws STATE where the tensor requires no gradient.
Ref<Hook> add_gradient_hook(const Tensor& tensor, std::function<Tensor(const Tensor& grad)> hook);

}  // namespace halftone
