#include "tensor/tensor.h"

#include <utility>

namespace halftone {

Tensor::Tensor(Ref<Storage> storage, DType dtype, const Shape& shape, const Shape& strides, int64_t offset)
    : body_(make_ref<Body>()) {
  body_->storage = std::move(storage);
  body_->dtype = dtype;
  body_->shape = shape;
  body_->strides = strides;
  body_->offset = offset;
}

void* Tensor::data() const noexcept {
  char* base = static_cast<char*>(body_->storage->data());
  return base == nullptr ? nullptr : base + body_->offset * static_cast<int64_t>(size_of(dtype()));
}

View Tensor::view() const noexcept { return {.data = data(), .dtype = dtype(), .shape = shape(), .strides = strides()}; }

Tensor Tensor::as_strided(const Shape& shape, const Shape& strides, int64_t offset) const {
  return Tensor(body_->storage, dtype(), shape, strides, offset);
}

void Tensor::set_gradient_source(Ref<GradientSource> source, uint32_t result_index) const noexcept {
  body_->source = std::move(source);
  body_->result_index = result_index;
}

}  // namespace halftone
