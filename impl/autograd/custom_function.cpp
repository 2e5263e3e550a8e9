#include "autograd/custom_function.h"

#include <algorithm>

#include "autograd/gradient_spec.h"
#include "autograd/graph/node.h"
#include "autograd/observer.h"
#include "autograd/saved_tensor.h"
#include "autograd/scope.h"
#include "core/error.h"

namespace halftone {

namespace {

struct CustomBackward final : Node {
  CustomBackward(const Ref<CustomFunction>& recorded, const CustomApplication& application)
      : Node(static_cast<uint32_t>(application.outputs.size())), function(recorded) {
    Edges edges(application.inputs.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      const Tensor& input = application.inputs[i];
      specs.emplace_back(input);
      edges[i] = {.node = Ref<Node>::share(node_of(input)), .result_index = input.result_index()};
    }
    // Detached, because the caller's backward gets them: there they must not lead to a leaf.
    for (const Tensor& tensor : application.saved) {
      saved.emplace_back(requires_grad(tensor) ? tensor.detach() : tensor);
    }
    set_edges(std::move(edges));
  }

  Ref<CustomFunction> function;
  std::vector<GradientSpec> specs;  // of the inputs
  std::vector<SavedTensor> saved;

  const char* name() const noexcept override { return function->name(); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    CustomFunction::BackwardCall call;
    for (const SavedTensor& tensor : saved) call.saved.push_back(tensor.unpack());
    call.grad_outputs = grads;
    for (size_t i = 0; i < specs.size(); ++i) call.needs_grad.push_back(inputs.needs(static_cast<int>(i)) ? 1 : 0);
    call.grad_inputs.resize(specs.size());
    function->backward(call);
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!call.needs_grad[i] || !call.grad_inputs[i].defined()) continue;
      const std::string what = std::string(name()) + ": gradient of input " + std::to_string(i);
      inputs.set(static_cast<int>(i), fitted(call.grad_inputs[i], specs[i], what.c_str()));
    }
  }
  void release_saved() noexcept override { saved.clear(); }
};

void watch_results(const CustomFunction& function, const std::vector<Tensor>& results,
                   const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> given;
  for (const Tensor& input : inputs) given.push_back(&input);
  for (const Tensor& result : results) watch_result(function.name(), result, given);
}

}  // namespace

std::vector<Tensor> record_custom(const Ref<CustomFunction>& function, const CustomApplication& application) {
  if (scope().in_backward) {
    fail(Code::kState, "function",
         "function %s cannot be recorded inside backward: gradients of gradients are not supported", function->name());
  }
  std::vector<Tensor> results;
  for (const Tensor& output : application.outputs) results.push_back(output.detach());
  if (is_watched()) watch_results(*function, results, application.inputs);
  if (!scope().grad_enabled || std::none_of(application.inputs.begin(), application.inputs.end(), requires_grad)) {
    return results;
  }
  const Ref<Node> node = make_ref<CustomBackward>(function, application);
  node->set_sequence(++scope().next_sequence);
  if (in_anomaly_mode() && scope().layer != nullptr) node->set_layer(scope().layer->place());
  for (size_t i = 0; i < results.size(); ++i) {
    if (has_gradients(results[i].dtype())) results[i].set_gradient_source(node, static_cast<uint32_t>(i));
  }
  return results;
}

}  // namespace halftone
