#include "autograd/leaf/leaf_memory.h"

#include <utility>

#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone {

LeafMemory::LeafMemory(ContextDevice& device, const Shape& shape, DType dtype)
    : context_(Ref<Context>::share(device.context)), device_(device), shape_(shape), dtype_(dtype) {}

LeafMemory::~LeafMemory() = default;

const Tensor& LeafMemory::allocate() {
  if (!exists()) tensor_ = empty(device_, dtype_, shape_, Category::kGradients);
  return tensor_;
}

Tensor LeafMemory::in(DType dtype) const {
  return dtype == dtype_ ? tensor_ : converted(tensor_, dtype, Category::kGradients);
}

void LeafMemory::take(Tensor memory, DType dtype) noexcept {
  tensor_ = std::move(memory);
  dtype_ = dtype;
}

void LeafMemory::release_unless_shared() noexcept {
  const bool is_shared = owner_ != nullptr || recordings_.load(std::memory_order_relaxed) > 0;
  if (exists() && !is_shared && tensor_.is_sole()) tensor_ = Tensor();
}

}  // namespace halftone
