#include "halftone/autograd.h"

#include "autograd/engine.h"
#include "base/call.h"
#include "base/scope.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Tensor grad_of(const Tensor& tensor) {
  const AccumulateGrad* accumulator = accumulator_of(tensor);
  if (accumulator == nullptr) fail(Code::kState, "tensor", "tensor is no leaf that requires a gradient");
  if (accumulator->is_invalid()) {
    fail(Code::kState, "tensor", "tensor's gradient is invalid since a failed backward; zero it first");
  }
  if (!accumulator->has_grad()) fail(Code::kState, "tensor", "tensor has no gradient; run backward first");
  return accumulator->grad().detach();
}

void zero_grad(const Tensor& tensor) {
  if (AccumulateGrad* accumulator = accumulator_of(tensor)) accumulator->zero_grad();
}

}  // namespace

htone_status htone_tensor_set_requires_grad(htone_tensor* tensor, int32_t requires_grad) {
  return Call(set_requires_grad, tensor, requires_grad);
}

htone_status htone_tensor_requires_grad(htone_tensor* tensor, int32_t* out_requires_grad) {
  return Pure(requires_grad, tensor, out_requires_grad);
}

htone_status htone_tensor_backward(htone_tensor* tensor, htone_tensor* gradient, int32_t retain_graph) {
  return Call(run_backward, tensor, optional(gradient), retain_graph);
}

htone_status htone_tensor_grad(htone_tensor* tensor, htone_tensor** out) { return Pure(grad_of, tensor, out); }

htone_status htone_tensor_zero_grad(htone_tensor* tensor) { return Call(zero_grad, tensor); }

htone_status htone_tensor_detach(htone_tensor* tensor, htone_tensor** out) {
  return Pure(&Tensor::detach, tensor, out);
}

htone_status htone_no_grad_begin(htone_scope** out) {
  return guard([&] {
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    wrap(out, std::move(open));
    ++scope().depth;
    scope().grad_enabled = false;
  });
}

htone_status htone_scope_end(htone_scope* scope) {
  return guard([&] {
    const auto open = hold(scope, "scope");
    Scope& current = halftone::scope();
    require_no_call_under_way();
    if (open->owner.get() != ScopeOwner::current()) {
      if (!open->owner->has_ended()) fail(Code::kState, "scope", "scope was begun on another thread, which still runs");
      return release_handle(scope, "scope");  // the modes ended with their thread
    }
    if (open->depth != current.depth) {
      fail(Code::kState, "scope", "scope is number %lld of the %lld open ones; end the inner ones first",
           static_cast<long long>(open->depth), static_cast<long long>(current.depth));
    }
    current.grad_enabled = open->before.grad_enabled;
    current.autocast = open->before.autocast;
    current.depth = open->before.depth;
    release_handle(scope, "scope");
  });
}
