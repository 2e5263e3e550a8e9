#include "offload/page.h"

#include <utility>

#include "tensor/factory.h"

namespace halftone::offload {

Page::Page(ContextDevice& device, DType dtype, int64_t size, Category category, SwapSpace& space)
    : tensor_(empty_without_memory(device, dtype, {size}, category)),
      bytes_(static_cast<size_t>(size) * size_of(dtype)),
      slot_(space.make_slot(bytes_)) {
  tensor_.storage()->set_restorer(this);
}

Page::~Page() {
  settle_copy();
  tensor_.storage()->set_restorer(nullptr);
}

void Page::start_copy(const Tensor& target) {
  settle_copy();
  copy_error_ = nullptr;
  if (place_ != Place::kAway) {
    fetch();
    return bring_back(tensor_, target);
  }
  slot_->start_read(0, target.data(), bytes_);
  copy_ = target;
}

void Page::finish_copy() {
  settle_copy();
  if (copy_error_) std::rethrow_exception(std::exchange(copy_error_, nullptr));
}

// The slot does one transfer at a time. An error is finish_copy()'s.
void Page::settle_copy() noexcept {
  if (!copy_.defined()) return;
  try {
    slot_->wait();
  } catch (...) {
    copy_error_ = std::current_exception();
  }
  copy_ = Tensor();
}

void Page::start_fetch() {
  if (place_ != Place::kAway) return;
  settle_copy();
  Storage& storage = *tensor_.storage();
  storage.refill();
  slot_->start_read(0, storage.data(), bytes_);
  place_ = Place::kArriving;
}

// Content that is being written out is still present.
void Page::fetch() {
  start_fetch();
  if (place_ == Place::kHere) return;
  try {
    slot_->wait();
    is_newer_ = false;
  } catch (...) {
    if (place_ == Place::kArriving) {
      release();
      throw;
    }
    is_newer_ = true;  // a write has failed: the reader gets what it was to write
  }
  place_ = Place::kHere;
  tensor_.storage()->set_restorer(nullptr);
}

void Page::start_put_back() noexcept {
  if (place_ == Place::kArriving) return drop();
  if (place_ != Place::kHere) return;
  tensor_.storage()->set_restorer(this);
  slot_->start_write(0, tensor_.storage()->data(), bytes_);
  place_ = Place::kLeaving;
}

void Page::finish_put_back() {
  if (place_ != Place::kLeaving) return;
  try {
    slot_->wait();
  } catch (...) {
    place_ = Place::kHere;
    is_newer_ = true;
    tensor_.storage()->set_restorer(nullptr);
    throw;
  }
  is_newer_ = false;
  release();
}

// Content that is being written stays until finish_put_back().
void Page::drop() noexcept {
  if (place_ == Place::kArriving) {
    try {
      slot_->wait();
    } catch (...) {
      // The next reader is told.
    }
  }
  if (place_ == Place::kArriving || (place_ == Place::kHere && !is_newer_)) release();
}

void Page::release() noexcept {
  tensor_.storage()->set_restorer(this);
  tensor_.storage()->release_memory();
  place_ = Place::kAway;
}

size_t Page::byte_at(const Tensor& part, int64_t element) const {
  return static_cast<size_t>(part.offset() + element) * size_of(tensor_.dtype());
}

void Page::read(const Tensor& part, int64_t begin, const Tensor& target) {
  if (target.numel() == 0) return;
  if (place_ != Place::kAway) {
    fetch();
    return bring_back(tensor_.as_strided(target.shape(), target.strides(), part.offset() + begin), target);
  }
  settle_copy();
  slot_->start_read(byte_at(part, begin), target.data(), static_cast<size_t>(target.numel()) * size_of(target.dtype()));
  slot_->wait();
}

void Page::write(const Tensor& part, const Tensor& values) {
  if (values.numel() == 0) return;
  if (place_ != Place::kAway) {
    fetch();
    is_newer_ = true;
    return bring_back(values, part);
  }
  settle_copy();
  slot_->start_write(byte_at(part, 0), values.data(), static_cast<size_t>(values.numel()) * size_of(values.dtype()));
  slot_->wait();
}

}  // namespace halftone::offload
