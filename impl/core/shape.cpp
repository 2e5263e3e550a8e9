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

int checked_dim(int64_t dim, int rank, const char* argument) {
  const int64_t limit = rank > 0 ? rank : 1;  // as in PyTorch a scalar has dimensions 0 and -1
  if (dim < -limit || dim >= limit) {
    fail(Code::kInvalidArgument, argument, "%s=%" PRId64 " is outside [%" PRId64 ", %" PRId64 ")", argument, dim,
         -limit, limit);
  }
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

ShapeText::ShapeText(const Shape& shape) noexcept {
  int length = std::snprintf(text, sizeof text, "[");
  for (int i = 0; i < shape.rank(); ++i) {
    length += std::snprintf(text + length, sizeof text - length, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
  }
  std::snprintf(text + length, sizeof text - length, "]");
}

}  // namespace halftone
