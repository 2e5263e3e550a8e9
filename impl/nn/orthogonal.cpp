// A random matrix with orthonormal rows or columns: Gram and Schmidt's method on vectors of normal numbers. Their
// lengths stay positive in it, so that the result is one of all such matrices with equal probability. Every projection
// is taken away twice, which leaves an error of a few roundings (Giraud et al., Numerische Mathematik 101, 2005).
#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/scope.h"
#include "core/error.h"
#include "nn/init.h"
#include "ops/matmul/matmul.h"
#include "ops/ops.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

// Vectors that are made orthonormal among each other in host memory. Against all former ones they go as a matrix.
constexpr int64_t kBlock = 32;

double dot(const double* a, const double* b, int64_t length) {
  double sum = 0.0;
  for (int64_t i = 0; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

// Takes the projections onto `count` orthonormal vectors away. Returns the length of the rest.
double take_away(const double* others, int64_t count, double* vector, int64_t length) {
  for (int64_t i = 0; i < 2 * count; ++i) {
    const double* other = others + i % count * length;
    const double share = dot(vector, other, length);
    for (int64_t j = 0; j < length; ++j) vector[j] -= share * other[j];
  }
  return std::sqrt(dot(vector, vector, length));
}

// A vector that depends on the former ones is replaced by an axis that does not. It happens to short vectors alone: a
// pair of normal numbers is 0 once in 2^24 draws.
void orthonormalize(double* vectors, int64_t count, int64_t length) {
  constexpr double kDependent = 1e-12;
  for (int64_t i = 0; i < count; ++i) {
    double* vector = vectors + i * length;
    double norm = take_away(vectors, i, vector, length);
    for (int64_t axis = 0; norm < kDependent && axis < length; ++axis) {
      std::fill_n(vector, length, 0.0);
      vector[axis] = 1.0;
      norm = take_away(vectors, i, vector, length);
    }
    for (int64_t j = 0; j < length; ++j) vector[j] /= norm;
  }
}

Tensor rows_of(const Tensor& matrix, int64_t begin, int64_t end) {
  return sliced(matrix, {.dim = 0, .start = begin, .length = end - begin});
}

// Makes the rows of a matrix orthonormal. REQUIRES: f64 or f32, contiguous, not more rows than columns.
void orthonormalize_rows(const Tensor& matrix) {
  const int64_t count = matrix.size(0), length = matrix.size(1);
  std::vector<double> block(static_cast<size_t>(std::min(count, kBlock) * length));
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    const Tensor target = rows_of(matrix, begin, end);
    const Tensor former = rows_of(matrix, 0, begin);
    Tensor vectors = target;
    for (int round = 0; begin > 0 && round < 2; ++round) {
      const Tensor shares = ops::matmul(vectors, ops::transpose(former, 0, 1));
      vectors = ops::sub(vectors, ops::matmul(shares, former));
    }
    read_to_host(vectors, DType::kF64, block.data());
    orthonormalize(block.data(), end - begin, length);
    write_from_host(target, DType::kF64, block.data());
  }
}

}  // namespace

void init_orthogonal(const Tensor& weight, double gain) {
  if (weight.rank() < 2) {
    fail(Code::kShapeMismatch, "tensor", "tensor %s has %d dimensions, expected at least 2",
         ShapeText(weight.shape()).text, weight.rank());
  }
  if (weight.numel() == 0) return;
  const ScopeGuard restore;
  scope().grad_enabled = false;
  scope().autocast = nullptr;
  const int64_t rows = weight.size(0), columns = weight.numel() / rows;
  const bool has_orthogonal_rows = rows <= columns;
  const DType dtype = weight.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor vectors =
      empty(weight.device(), dtype, has_orthogonal_rows ? Shape{rows, columns} : Shape{columns, rows});
  init_normal(vectors, 0.0, 1.0);
  orthonormalize_rows(vectors);
  const Tensor matrix = has_orthogonal_rows ? vectors : ops::transpose(vectors, 0, 1);
  copy(ops::reshape(ops::rescale(matrix, gain, 0.0), weight.shape()), weight);
}

}  // namespace halftone::nn
