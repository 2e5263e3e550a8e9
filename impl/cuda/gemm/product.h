// A matrix product as kernels take it, and its end: c = activation(sum + bias + residual), added to c if asked, or the
// activation's backward. Device code.
#pragma once

#include "backend/kernels/gemm.h"
#include "cuda/base/element.h"
#include "cuda/base/math.h"

namespace halftone::cuda {

// A matrix, or a vector with rows of stride 0; null data for none.
struct Matrix {
  Elements elements;
  int64_t strides[2] = {};
};

inline Matrix matrix_of(const View& view) {
  Matrix matrix = {.elements = {view.data, view.dtype}};
  if (view.data == nullptr) return matrix;
  matrix.strides[0] = view.rank() == 2 ? view.strides[0] : 0;
  matrix.strides[1] = view.strides[view.rank() - 1];
  return matrix;
}

template <class C>
HALFTONE_DEVICE inline C load_at(const Matrix& matrix, int64_t row, int64_t column) {
  return load<C>(matrix.elements, row * matrix.strides[0] + column * matrix.strides[1]);
}
template <class C>
HALFTONE_DEVICE inline void store_at(const Matrix& matrix, int64_t row, int64_t column, C value) {
  store<C>(matrix.elements, row * matrix.strides[0] + column * matrix.strides[1], value);
}

// The operands, as tiles.h reads them.
struct Product {
  int64_t m, n, k;
  Matrix left, right;

  HALFTONE_DEVICE bool a_by_depth() const { return left.strides[1] == 1; }
  HALFTONE_DEVICE bool b_by_depth() const { return right.strides[0] == 1; }
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    return load_at<C>(left, row, depth);
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    return load_at<C>(right, depth, column);
  }
};

inline Product product_of(const GemmArgs& args) {
  return {.m = args.c.shape[0],
          .n = args.c.shape[1],
          .k = args.a.shape[1],
          .left = matrix_of(args.a),
          .right = matrix_of(args.b)};
}

struct Epilogue {
  Matrix bias;
  Matrix residual;
  Matrix sum;
  Matrix argument;
  Matrix c;
  GemmActivation activation = GemmActivation::kNone;
  bool adds = false;
};

inline Epilogue epilogue_of(const GemmArgs& args) {
  return {.bias = matrix_of(args.bias),
          .residual = matrix_of(args.residual),
          .sum = matrix_of(args.sum),
          .argument = matrix_of(args.argument),
          .c = matrix_of(args.c),
          .activation = args.activation,
          .adds = args.store == Store::kAdd};
}

template <class C>
HALFTONE_DEVICE inline C activated(GemmActivation activation, C x) {
  switch (activation) {
    case GemmActivation::kNone:
      return x;
    case GemmActivation::kRelu:
      return x <= 0 ? C{0} : x;  // NaN stays
    case GemmActivation::kGeluErf:
      return gelu_erf_of(x);
    case GemmActivation::kGeluTanh:
      return gelu_tanh_of(x);
    case GemmActivation::kSilu:
      return silu_of(x);
  }
  return x;
}

// The sum times the activation's derivative at x.
template <class C>
HALFTONE_DEVICE inline C sloped(GemmActivation activation, C sum, C x) {
  switch (activation) {
    case GemmActivation::kNone:
      return sum;
    case GemmActivation::kRelu:
      return x <= 0 ? C{0} : sum;  // NaN lets the sum pass
    case GemmActivation::kGeluErf:
      return sum * gelu_erf_slope(x);
    case GemmActivation::kGeluTanh:
      return sum * gelu_tanh_slope(x);
    case GemmActivation::kSilu:
      return sum * silu_slope(x);
  }
  return sum;
}

// Rounds once, when c is stored.
template <class C>
HALFTONE_DEVICE inline void finish(const Epilogue& epilogue, int64_t row, int64_t column, C value) {
  if (epilogue.bias.elements.data != nullptr) value += load_at<C>(epilogue.bias, 0, column);
  if (epilogue.residual.elements.data != nullptr) value += load_at<C>(epilogue.residual, row, column);
  if (epilogue.sum.elements.data != nullptr) store_at<C>(epilogue.sum, row, column, value);
  if (epilogue.argument.elements.data != nullptr) {
    value = sloped(epilogue.activation, value, load_at<C>(epilogue.argument, row, column));
  } else {
    value = activated(epilogue.activation, value);
  }
  if (epilogue.adds) value += load_at<C>(epilogue.c, row, column);
  store_at<C>(epilogue.c, row, column, value);
}

}  // namespace halftone::cuda
