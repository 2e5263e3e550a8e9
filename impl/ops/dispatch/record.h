// Enters an operation into the graph:
//   if (auto* node = record<ReluBackward>(result, {&input})) node->input = SavedTensor(input);
// Built-in operations read the thread's grad mode here only; custom functions read it in autograd/custom_function.cpp.
#pragma once

#include <initializer_list>
#include <span>

#include "autograd/observer.h"
#include "autograd/saved_tensor.h"
#include "autograd/scope.h"

namespace halftone {

// True if this thread records and any input requires a gradient. Undefined inputs count as constants.
bool should_record(std::span<const Tensor* const> inputs) noexcept;

// Connects `node` to the inputs' sources and makes it the source of `result`.
void connect(Ref<Node> node, const Tensor& result, std::span<const Tensor* const> inputs);

// Returns the new node, in which the operation saves the values that backward needs; null if nothing is recorded.
// `op` names the operation where the node's name is not known before it is filled.
template <class BackwardNode>
BackwardNode* record(const Tensor& result, std::span<const Tensor* const> inputs, const char* op = nullptr) {
  if (is_watched()) [[unlikely]]
    watch_result(op != nullptr ? op : make_ref<BackwardNode>()->name(), result, inputs);
  if (!should_record(inputs)) return nullptr;
  Ref<BackwardNode> node = make_ref<BackwardNode>();
  BackwardNode* recorded = node.get();
  connect(std::move(node), result, inputs);
  return recorded;
}
template <class BackwardNode>
BackwardNode* record(const Tensor& result, std::initializer_list<const Tensor*> inputs, const char* op = nullptr) {
  return record<BackwardNode>(result, std::span(inputs.begin(), inputs.size()), op);
}

}  // namespace halftone
