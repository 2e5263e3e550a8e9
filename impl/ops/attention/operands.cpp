#include "ops/attention/operands.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/shape/shape.h"

namespace halftone {

namespace {

int64_t size_from_end(const Tensor& tensor, int back) { return tensor.size(tensor.rank() - back); }

void require_rank(const Tensor& tensor, const char* argument) {
  if (tensor.rank() < 3) {
    fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, expected at least 3", argument,
         ShapeText(tensor.shape()).text, tensor.rank());
  }
}

// All dimensions but the last `back` must be equal.
void require_same_leading(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name, int back,
                          const char* end) {
  const Shape& first = a.shape();
  const Shape& second = b.shape();
  const bool equal = first.rank() == second.rank() &&
                     Shape(first.begin(), first.rank() - back) == Shape(second.begin(), second.rank() - back);
  if (!equal) {
    fail(Code::kShapeMismatch, b_name, "%s %s and %s %s differ before the last %s", a_name, ShapeText(first).text,
         b_name, ShapeText(second).text, end);
  }
}

void require_same_size(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name, int back) {
  if (size_from_end(a, back) != size_from_end(b, back)) {
    fail(Code::kShapeMismatch, b_name, "%s.shape[%d]=%lld differs from %s.shape[%d]=%lld", b_name, b.rank() - back,
         static_cast<long long>(size_from_end(b, back)), a_name, a.rank() - back,
         static_cast<long long>(size_from_end(a, back)));
  }
}

// The dimensions before heads must be equal or 1.
void require_broadcast(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name) {
  const Shape first(a.shape().begin(), a.rank() - 3), second(b.shape().begin(), b.rank() - 3);
  if (broadcast_together(first, second)) return;
  fail(Code::kShapeMismatch, b_name, "%s %s and %s %s do not broadcast before the last 3 dimensions", a_name,
       ShapeText(a.shape()).text, b_name, ShapeText(b.shape()).text);
}

// Queries of several heads may share the keys of one (grouped queries): the counts divide.
void require_heads(const Tensor& q, const Tensor& k) {
  const int64_t heads = size_from_end(q, 3);
  const int64_t kv_heads = size_from_end(k, 3);
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
    fail(Code::kShapeMismatch, "k", "k.shape[%d]=%lld heads do not divide the %lld heads of q", k.rank() - 3,
         static_cast<long long>(kv_heads), static_cast<long long>(heads));
  }
}

void require_mask(const AttentionOperands& operands) {
  const Tensor& mask = operands.mask;
  require_same_device(operands.q, "q", mask, "mask");
  const DType dtype = mask.dtype();
  if (dtype != DType::kBool && dtype != DType::kU8 && !is_arithmetic_float(dtype)) {
    fail(Code::kDtypeMismatch, "mask", "mask is %s, expected bool, u8, f64, f32, f16 or bf16", name_of(dtype));
  }
  const Shape scores = score_shape(operands);
  bool fits = mask.rank() <= scores.rank();
  for (int i = 1; fits && i <= mask.rank(); ++i) {
    const int64_t size = size_from_end(mask, i);
    fits = size == 1 || size == scores[scores.rank() - i];
  }
  if (!fits) {
    fail(Code::kShapeMismatch, "mask", "mask %s does not broadcast to the scores %s", ShapeText(mask.shape()).text,
         ShapeText(scores).text);
  }
}

// The dimensions before heads, rows and depth.
Shape batch_of(const Tensor& tensor) { return Shape(tensor.shape().begin(), std::max(0, tensor.rank() - 3)); }

Tensor repeated(const Tensor& tensor, Shape batch, int64_t heads) {
  if (batch.rank() + 3 > kMaxRank) {
    fail(Code::kShapeMismatch, "k", "q, k and v broadcast to %d dimensions, expected at most %d", batch.rank() + 3,
         kMaxRank);
  }
  for (int back = 3; back > 0; --back) batch.push_back(back == 3 ? heads : size_from_end(tensor, back));
  return tensor.shape() == batch ? tensor : ops::broadcast_to(tensor, batch);
}

}  // namespace

bool have_equal_batches(const Tensor& q, const Tensor& k, const Tensor& v) {
  return batch_of(q) == batch_of(k) && batch_of(k) == batch_of(v) && q.rank() == k.rank() && k.rank() == v.rank() &&
         (q.rank() < 3 || size_from_end(k, 3) == size_from_end(v, 3));
}

std::array<Tensor, 3> with_equal_batches(const Tensor& q, const Tensor& k, const Tensor& v) {
  require_rank(q, "q");
  require_rank(k, "k");
  require_rank(v, "v");
  require_broadcast(q, "q", k, "k");
  require_broadcast(q, "q", v, "v");
  require_broadcast(k, "k", v, "v");
  const Shape batch = broadcast_shapes(broadcast_shapes(batch_of(q), batch_of(k)), batch_of(v));
  const int64_t heads = std::max(size_from_end(k, 3), size_from_end(v, 3));
  return {repeated(q, batch, size_from_end(q, 3)), repeated(k, batch, heads), repeated(v, batch, heads)};
}

Shape score_shape(const AttentionOperands& operands) {
  Shape shape = operands.q.shape();
  shape[shape.rank() - 1] = size_from_end(operands.k, 2);
  return shape;
}

void require_attention(const AttentionOperands& operands) {
  const auto& [q, k, v, mask] = operands;
  require_float(q, "q");
  for (const auto& [tensor, argument] : {std::pair(&k, "k"), std::pair(&v, "v")}) {
    require_same_dtype(q, "q", *tensor, argument);
    require_same_device(q, "q", *tensor, argument);
  }
  require_rank(q, "q");
  require_same_leading(k, "k", v, "v", 1, "dimension");
  require_heads(q, k);
  require_same_size(q, "q", k, "k", 1);
  // The default scale would divide by 0.
  if (size_from_end(q, 1) == 0) fail(Code::kShapeMismatch, "q", "q.shape[%d]=0, expected at least 1", q.rank() - 1);
  if (mask.defined()) require_mask(operands);
}

}  // namespace halftone
