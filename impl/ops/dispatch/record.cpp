#include "ops/dispatch/record.h"

#include <utility>

namespace halftone {

bool should_record(std::span<const Tensor* const> inputs) noexcept {
  if (!scope().grad_enabled) return false;
  for (const Tensor* input : inputs) {
    if (input->defined() && requires_grad(*input)) return true;
  }
  return false;
}

namespace {

// Memory that backward may need. A view counts as what it shows: its memory is no result of this operation.
void count_as_activation(const Tensor& result, std::span<const Tensor* const> inputs) noexcept {
  Storage& storage = *result.storage();
  if (storage.category() != Category::kOther) return;
  for (const Tensor* input : inputs) {
    if (input->defined() && input->storage().get() == &storage) return;
  }
  storage.set_category(Category::kActivations);
}

}  // namespace

void connect(Ref<Node> node, const Tensor& result, std::span<const Tensor* const> inputs) {
  Edges edges(inputs.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    const Tensor& input = *inputs[i];
    if (!input.defined()) continue;
    edges[i] = {.node = Ref<Node>::share(node_of(input)), .result_index = input.result_index()};
  }
  node->set_edges(std::move(edges));
  // The engine runs later operations first.
  node->set_sequence(++scope().next_sequence);
  if (in_anomaly_mode() && scope().layer != nullptr) node->set_layer(scope().layer->place());
  count_as_activation(result, inputs);
  result.set_gradient_source(std::move(node));
}

}  // namespace halftone
