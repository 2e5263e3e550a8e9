#include "op_call.h"

#include <algorithm>

#include "autograd/leaf/accumulate_grad.h"
#include "backend/chunks.h"

namespace halftone {

namespace {

int64_t largest_of(const Shapes& shapes) {
  int64_t largest = 0;
  for (const Shape& shape : shapes) largest = std::max(largest, numel(shape));
  return largest;
}

}  // namespace

bool Arrangement::repeats() const {
  return layouts[0] == Layout::kRepeatedFirst || layouts[0] == Layout::kRepeatedLast;
}

bool is_large(const Shapes& shapes) { return largest_of(shapes) > 2 * kChunkSize; }

std::vector<Arrangement> arrangements_for(const Shapes& shapes) {
  std::vector<Arrangement> result = {{"contiguous", {Layout::kContiguous}}};
  result.push_back({"reversed", {Layout::kReversed}});
  if (is_large(shapes)) return result;
  result.push_back({"with gaps", {Layout::kGaps}});
  if (largest_of(shapes) < 2) return result;
  result.push_back({"in unlike layouts", {Layout::kGaps, Layout::kContiguous, Layout::kReversed}});
  result.push_back({"repeated along the first dimension", {Layout::kRepeatedFirst}});
  result.push_back({"repeated along the last dimension", {Layout::kRepeatedLast}});
  return result;
}

Arrays draw_inputs(const OpCase& op_case, DType dtype, const Shapes& shapes, const Arrangement& arrangement) {
  Arrays inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(draw_input(op_case.inputs[i], dtype, shapes, i, arrangement.of(i)));
  }
  return inputs;
}

OpCall::OpCall(const OpCase& op_case, ContextDevice& device, DType dtype, const Arrays& inputs,
               const Arrangement& arrangement)
    : case_(op_case), dtype_(dtype) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs_.emplace_back(device, dtype_of_input(op_case.inputs[i], dtype), inputs[i], arrangement.of(i));
  }
}

void OpCall::require_gradients() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (leads_gradient(case_.inputs[i], dtype_)) set_requires_grad(inputs_[i].tensor(), true);
  }
}

Tensors OpCall::run() const {
  Tensors tensors;
  for (const LaidInput& input : inputs_) tensors.push_back(input.tensor());
  return case_.run(tensors);
}

bool OpCall::inputs_are_unchanged() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const LaidInput& input) { return input.is_unchanged(); });
}

}  // namespace halftone
