#include "ops/dispatch/in_place.h"

#include <functional>

#include "autograd/leaf/accumulate_grad.h"
#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

// The memory between the first and the last element. Strides are not negative.
struct Extent {
  explicit Extent(const Tensor& tensor) : begin(static_cast<const char*>(tensor.data())), end(begin) {
    if (tensor.numel() == 0) return;
    int64_t last = 0;
    for (int i = 0; i < tensor.rank(); ++i) last += (tensor.size(i) - 1) * tensor.strides()[i];
    end = begin + (last + 1) * static_cast<int64_t>(size_of(tensor.dtype()));
  }

  const char* begin;
  const char* end;
};

bool are_same_elements(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

bool broadcasts_to(const Shape& shape, const Shape& target) {
  if (shape.rank() > target.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i) {
    const int64_t size = shape[shape.rank() - i];
    if (size != 1 && size != target[target.rank() - i]) return false;
  }
  return true;
}

}  // namespace

bool share_memory(const Tensor& a, const Tensor& b) {
  const Extent first(a), second(b);
  const std::less<const char*> precedes;
  return precedes(first.begin, second.end) && precedes(second.begin, first.end);
}

void require_in_place(const Tensor& target, const Tensor& operand, const char* operand_name) {
  require_writable(target, "tensor");
  const Tensor* const written[] = {&target};
  if (should_record(written)) {
    fail(Code::kState, "tensor",
         "tensor is a leaf that requires a gradient; write it in a no_grad scope, where nothing is recorded");
  }
  const Tensor* const read[] = {&operand};
  if (should_record(read)) {
    fail(Code::kState, operand_name,
         "%s requires a gradient, which a write in place does not record; detach it, or begin a no_grad scope",
         operand_name);
  }
}

Tensor in_place_operand(const Tensor& target, const Tensor& operand, const char* operand_name) {
  if (!broadcasts_to(operand.shape(), target.shape())) {
    fail(Code::kShapeMismatch, operand_name, "%s %s does not broadcast to tensor %s", operand_name,
         ShapeText(operand.shape()).text, ShapeText(target.shape()).text);
  }
  const bool needs_copy = share_memory(target, operand) && !are_same_elements(target, operand);
  return expanded(needs_copy ? converted(operand, operand.dtype()) : operand, target.shape());
}

}  // namespace halftone
