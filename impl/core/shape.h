// Shapes and strides of at most eight dimensions, held inline, with checked arithmetic.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace halftone {

inline constexpr int kMaxRank = 8;

// A short list of int64: a shape, strides in elements, or a list of dimensions.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> values) {
    for (int64_t value : values) push_back(value);
  }
  constexpr Shape(const int64_t* values, int rank) : rank_(rank) {
    for (int i = 0; i < rank; ++i) values_[i] = values[i];
  }

  constexpr int rank() const { return rank_; }
  constexpr int64_t operator[](int i) const { return values_[i]; }
  constexpr int64_t& operator[](int i) { return values_[i]; }
  constexpr const int64_t* begin() const { return values_; }
  constexpr const int64_t* end() const { return values_ + rank_; }
  // REQUIRES: rank() < kMaxRank
  constexpr void push_back(int64_t value) { values_[rank_++] = value; }

  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  int rank_ = 0;
  int64_t values_[kMaxRank] = {};
};

// REQUIRES: the shape passed check_shape, so that the product cannot overflow.
constexpr int64_t numel(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

// Row-major strides in elements; a dimension of size 0 counts as 1 so that strides stay positive.
constexpr Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i] > 1 ? shape[i] : 1;
  }
  return strides;
}

// True where elements lie in row-major order without gaps; strides of dimensions of size 1 do not matter.
constexpr bool is_contiguous(const Shape& shape, const Shape& strides) {
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] > 1 && strides[i] != step) return false;
    step *= shape[i] > 1 ? shape[i] : 1;
  }
  return true;
}

// Builds a shape from a caller's array and refuses a bad rank, a negative size, and a product (with 0 counted as 1)
// that leaves int64 in bytes of the widest dtype. Throws INVALID_ARGUMENT naming `argument`.
Shape checked_shape(const int64_t* sizes, int64_t rank, const char* argument);

// Checks a caller's strides for a shape that passed checked_shape. Strides that are never used, of a dimension of size
// 1 or of an empty tensor, may have any value and become row-major. Refuses a negative stride, and a distance between
// two elements that leaves int64 in bytes of the widest dtype. Throws INVALID_ARGUMENT naming `argument`.
Shape checked_strides(const Shape& shape, const int64_t* strides, const char* argument);

// True where two elements may share memory. Strides that interleave without meeting give true as well.
bool may_overlap(const Shape& shape, const Shape& strides);

// A negative dimension counts from the end. Throws INVALID_ARGUMENT naming `argument` outside [-rank, rank).
int checked_dim(int64_t dim, int rank, const char* argument);
// Applies checked_dim to each dimension and refuses one that is named twice.
Shape checked_dims(const Shape& dims, int rank, const char* argument);

// "[2, 3]" for messages, in its own buffer.
struct ShapeText {
  explicit ShapeText(const Shape& shape) noexcept;
  char text[kMaxRank * 22 + 3];
};

}  // namespace halftone
