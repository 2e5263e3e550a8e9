#include "halftone/autograd.h"

#include "arguments.h"
#include "autograd/engine.h"
#include "guard.h"
#include "scope.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

const Tensor& grad_of(const Tensor& tensor) {
  const AccumulateGrad* accumulator = accumulator_of(tensor);
  if (accumulator == nullptr) fail(Code::kState, "tensor", "tensor is no leaf that requires a gradient");
  if (accumulator->is_invalid()) {
    fail(Code::kState, "tensor", "tensor's gradient is invalid since a failed backward; zero it first");
  }
  if (!accumulator->has_grad()) fail(Code::kState, "tensor", "tensor has no gradient; run backward first");
  return accumulator->grad();
}

}  // namespace

htone_status htone_tensor_set_requires_grad(htone_tensor* tensor, int32_t requires_grad) {
  return guard([&] { set_requires_grad(unwrap(tensor, "tensor"), requires_grad != 0); });
}

htone_status htone_tensor_requires_grad(htone_tensor* tensor, int32_t* out_requires_grad) {
  return guard([&] {
    const Tensor& source = unwrap(tensor, "tensor");
    require(out_requires_grad, "out_requires_grad") = requires_grad(source) ? 1 : 0;
  });
}

htone_status htone_tensor_backward(htone_tensor* tensor, htone_tensor* gradient, int32_t retain_graph) {
  return guard([&] {
    const Tensor root = hold(tensor, "tensor");
    run_backward(root, unwrap_optional(gradient, "gradient"), retain_graph != 0);
  });
}

htone_status htone_tensor_grad(htone_tensor* tensor, htone_tensor** out) {
  return guard([&] {
    const Tensor& leaf = unwrap(tensor, "tensor");
    require(out, "out");
    wrap(out, grad_of(leaf).detach());
  });
}

htone_status htone_tensor_zero_grad(htone_tensor* tensor) {
  return guard([&] {
    if (AccumulateGrad* accumulator = accumulator_of(unwrap(tensor, "tensor"))) accumulator->zero_grad();
  });
}

htone_status htone_tensor_detach(htone_tensor* tensor, htone_tensor** out) {
  return guard([&] { wrap(out, unwrap(tensor, "tensor").detach()); });
}

htone_status htone_no_grad_begin(htone_scope** out) {
  return guard([&] {
    wrap(out, open_scope());
    ++scope().depth;
    scope().grad_enabled = false;
  });
}

htone_status htone_scope_end(htone_scope* scope) {
  return guard([&] {
    const Ref<OpenScope> open = unwrap(scope, "scope");
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
