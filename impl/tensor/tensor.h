// A tensor: shape and strides over shared storage. The class is a reference, as cheap to copy as a pointer. It knows
// nothing of gradients: autograd attaches a GradientSource to a tensor, and only autograd reads it.
#pragma once

#include <cstdint>

#include "backend/view.h"
#include "tensor/storage.h"

namespace halftone {

// The receiver of a tensor's gradient: an operation's node or a leaf's accumulator (autograd/graph/node.h).
class GradientSource : public RefCounted {};

class Tensor {
 public:
  Tensor() = default;
  Tensor(Ref<Storage> storage, DType dtype, const Shape& shape, const Shape& strides, int64_t offset);

  bool defined() const noexcept { return static_cast<bool>(body_); }

  DType dtype() const noexcept { return body_->dtype; }
  const Shape& shape() const noexcept { return body_->shape; }
  const Shape& strides() const noexcept { return body_->strides; }
  int64_t size(int dim) const noexcept { return body_->shape[dim]; }
  int rank() const noexcept { return body_->shape.rank(); }
  int64_t numel() const noexcept { return halftone::numel(body_->shape); }
  int64_t offset() const noexcept { return body_->offset; }
  bool is_contiguous() const noexcept { return halftone::is_contiguous(shape(), strides()); }

  const Ref<Storage>& storage() const noexcept { return body_->storage; }
  ContextDevice& device() const noexcept { return body_->storage->device(); }
  // The address of the first element; null for an empty storage.
  void* data() const noexcept;
  View view() const noexcept;

  // A tensor of another shape over this storage, without gradient source.
  Tensor as_strided(const Shape& shape, const Shape& strides, int64_t offset) const;
  // A tensor of the same elements without gradient source.
  Tensor detach() const { return as_strided(shape(), strides(), offset()); }

  // Changes with every write that may concern these elements. Writes through a tensor count for its storage as a whole,
  // unless it, or the tensor it was derived from, has a version of its own.
  uint64_t version() const noexcept;
  void bump_version() const noexcept;
  // Counts writes through this tensor, and through tensors derived from it later, in `range`. For ranges of a flat
  // buffer: a write to one leaves what is known of the others valid. REQUIRES: no other range overlaps these elements,
  // and no other thread uses this tensor.
  void set_range(Ref<RangeVersion> range) const noexcept;
  // True if the storage has more elements than these.
  bool is_part() const noexcept;
  // True if this is the last reference: no other tensor is over the storage, so that its memory goes with this one.
  bool is_sole() const noexcept { return body_->reference_count() == 1 && storage()->reference_count() == 1; }

  const Ref<GradientSource>& gradient_source() const noexcept { return body_->source; }
  uint32_t result_index() const noexcept { return body_->result_index; }  // among the results of the source
  // REQUIRES: no other thread uses this tensor.
  void set_gradient_source(Ref<GradientSource> source, uint32_t result_index = 0) const noexcept;

  // True if both refer to one tensor object.
  bool is_same(const Tensor& other) const noexcept { return body_ == other.body_; }

 private:
  struct Body final : RefCounted {
    Ref<Storage> storage;
    DType dtype;
    uint32_t result_index = 0;  // among the results of `source`
    int64_t offset;
    Shape shape;
    Shape strides;
    Ref<GradientSource> source;
    Ref<RangeVersion> range;  // null: the storage's
  };

  Ref<Body> body_;
};

}  // namespace halftone
