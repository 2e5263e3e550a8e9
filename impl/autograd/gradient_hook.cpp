#include "autograd/gradient_hook.h"

#include <utility>

#include "autograd/gradient_spec.h"
#include "autograd/graph/node.h"
#include "core/error.h"

namespace halftone {

Ref<Hook> add_gradient_hook(const Tensor& tensor, std::function<Tensor(const Tensor& grad)> hook) {
  Node* node = node_of(tensor);
  if (node == nullptr) fail(Code::kState, "tensor", "tensor requires no gradient, so that none arrives");
  return node->gradient_hooks().add(
      [index = tensor.result_index(), spec = GradientSpec(tensor), hook = std::move(hook)](std::vector<Tensor>& grads) {
        Tensor& grad = grads[index];
        if (!grad.defined()) return;
        const Tensor replacement = hook(grad);
        if (replacement.defined()) grad = fitted(replacement, spec, "a gradient hook's gradient");
      });
}

}  // namespace halftone
