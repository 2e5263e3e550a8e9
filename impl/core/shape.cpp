#include "core/shape.h"

#include <cinttypes>
#include <cstdio>

#include "core/error.h"

namespace halftone {

Shape checked_shape(const int64_t* sizes, int64_t rank, const char* argument) {
  if (rank < 0 || rank > kMaxRank) {
    fail(Code::kInvalidArgument, argument, "%s has %" PRId64 " dimensions, expected 0 to %d", argument, rank, kMaxRank);
  }
  // A zero anywhere must not hide an overflow elsewhere ([2^40, 2^40, 0]), so it counts as one here.
  int64_t bytes = 8;
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] < 0) {
      fail(Code::kInvalidArgument, argument, "%s[%d]=%" PRId64 " is negative", argument, i, sizes[i]);
    }
    if (__builtin_mul_overflow(bytes, sizes[i] > 1 ? sizes[i] : 1, &bytes)) {
      fail(Code::kInvalidArgument, argument, "%s %s has more elements than 64 bits can count in bytes", argument,
           ShapeText(Shape(sizes, static_cast<int>(rank))).text);
    }
  }
  return Shape(sizes, static_cast<int>(rank));
}

Shape checked_strides(const Shape& shape, const int64_t* strides, const char* argument) {
  Shape checked = contiguous_strides(shape);
  if (numel(shape) == 0) return checked;
  int64_t farthest = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    if (strides[i] < 0)
      fail(Code::kInvalidArgument, argument,
           "%s has the negative stride %" PRId64 "; copy the elements in row-major order first", argument, strides[i]);
    int64_t step;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) || __builtin_add_overflow(farthest, step, &farthest) ||
        farthest > INT64_MAX / 8 - 1) {
      fail(Code::kInvalidArgument, argument, "%s has a stride of %" PRId64 " elements, beyond all memory", argument,
           strides[i]);
    }
    checked[i] = strides[i];
  }
  return checked;
}

bool may_overlap(const Shape& shape, const Shape& strides) {
  if (numel(shape) == 0) return false;
  // The dimensions that are stepped along, by ascending stride.
  int order[kMaxRank];
  int count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    int place = count++;
    for (; place > 0 && strides[order[place - 1]] > strides[i]; --place) order[place] = order[place - 1];
    order[place] = i;
  }
  int64_t reach = 0;  // from the first to the last element of the dimensions so far
  for (int k = 0; k < count; ++k) {
    const int64_t stride = strides[order[k]];
    if (stride <= reach) return true;
    reach += (shape[order[k]] - 1) * stride;
  }
  return false;
}

int checked_dim(int64_t dim, int rank, const char* argument) {
  const int64_t limit = rank > 0 ? rank : 1;  // as in PyTorch a scalar has dimensions 0 and -1
  if (dim < -limit || dim >= limit) {
    fail(Code::kInvalidArgument, argument, "%s=%" PRId64 " is outside [%" PRId64 ", %" PRId64 ")", argument, dim,
         -limit, limit);
  }
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

Shape checked_dims(const Shape& dims, int rank, const char* argument) {
  Shape checked;
  bool named[kMaxRank] = {};
  for (int64_t dim : dims) {
    const int at = checked_dim(dim, rank, argument);
    if (named[at]) fail(Code::kInvalidArgument, argument, "%s names dimension %d twice", argument, at);
    named[at] = true;
    checked.push_back(at);
  }
  return checked;
}

ShapeText::ShapeText(const Shape& shape) noexcept {
  int length = std::snprintf(text, sizeof text, "[");
  for (int i = 0; i < shape.rank(); ++i) {
    length += std::snprintf(text + length, sizeof text - length, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
  }
  std::snprintf(text + length, sizeof text - length, "]");
}

}  // namespace halftone
