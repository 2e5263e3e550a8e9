#include "tensor/tensor.h"

#include <utility>

#include "runtime/recorded_step.h"
#include "tensor/recorded_write.h"

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

View Tensor::view() const noexcept {
  return {.data = data(), .dtype = dtype(), .shape = shape(), .strides = strides()};
}

Tensor Tensor::as_strided(const Shape& shape, const Shape& strides, int64_t offset) const {
  Tensor derived(body_->storage, dtype(), shape, strides, offset);
  derived.body_->range = body_->range;
  return derived;
}

uint64_t Tensor::version() const noexcept {
  return body_->range ? storage()->whole_writes() + body_->range->writes() : storage()->writes();
}

void Tensor::bump_version() const noexcept {
  if (RecordedStep* step = RecordedStep::current(); step != nullptr) [[unlikely]]
    record_write(*step, storage(), body_->range);
  if (!body_->range) return storage()->bump_whole();
  body_->range->bump();
  storage()->bump_range();
}

void Tensor::set_range(Ref<RangeVersion> range) const noexcept { body_->range = std::move(range); }

bool Tensor::is_part() const noexcept {
  return static_cast<size_t>(numel()) * size_of(dtype()) < storage()->byte_count();
}

void Tensor::set_gradient_source(Ref<GradientSource> source, uint32_t result_index) const noexcept {
  body_->source = std::move(source);
  body_->result_index = result_index;
}

}  // namespace halftone
