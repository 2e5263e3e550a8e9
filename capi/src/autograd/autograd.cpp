#include "halftone/autograd.h"

#include "autograd/engine.h"
#include "autograd/leaf/accumulate_grad.h"
#include "base/call.h"
#include "scope/scope.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// Another tensor over the gradient's elements: requires_grad of the caller's tensor must not mark the leaf's own.
Tensor grad_of(const Tensor& tensor) {
  const AccumulateGrad* accumulator = accumulator_of(tensor);
  if (accumulator == nullptr) fail(Code::kState, "tensor", "tensor is no leaf that requires a gradient");
  if (accumulator->gradient().is_invalid()) {
    fail(Code::kState, "tensor", "tensor's gradient is invalid since a failed backward; zero it first");
  }
  if (!accumulator->has_grad()) fail(Code::kState, "tensor", "tensor has no gradient; run backward first");
  return accumulator->grad().detach();
}

void zero_grad(const Tensor& tensor) {
  if (AccumulateGrad* accumulator = accumulator_of(tensor)) accumulator->zero_grad();
}

Anomaly checked_anomaly(htone_anomaly anomaly) {
  if (anomaly == HTONE_ANOMALY_NAN) return Anomaly::kNan;
  if (anomaly == HTONE_ANOMALY_NOT_FINITE) return Anomaly::kNotFinite;
  fail(Code::kInvalidArgument, "anomaly", "anomaly=%d, expected one of HTONE_ANOMALY_...", anomaly);
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
    enter(std::move(open), out);
    scope().grad_enabled = false;
  });
}

htone_status htone_anomaly_begin(htone_anomaly anomaly, htone_scope** out) {
  return guard([&] {
    const Anomaly sought = checked_anomaly(anomaly);
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    enter(std::move(open), out);
    scope().anomaly = sought;
  });
}
