// The operations whose values are computed one element at a time, in double whatever the dtype, mostly by libm: a
// function for each. One loop over a pointer serves all of them, so that they are compiled once, and not for each dtype
// and instruction set. Pure functions, safe from any thread.
#pragma once

#include <cmath>
#include <numbers>

#include "backend/formula/atan2.h"
#include "backend/formula/division.h"
#include "backend/formula/elu.h"
#include "backend/formula/logaddexp.h"
#include "backend/formula/mish.h"
#include "backend/kernels/elementwise.h"

namespace halftone::cpu {

using UnaryFormula = double (*)(double);
using BinaryFormula = double (*)(double, double);
using TernaryFormula = double (*)(double, double, double);

// Null for an operation that is computed in vectors or has no floats.
constexpr UnaryFormula formula_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::kErf:
      return [](double x) { return std::erf(x); };
    case UnaryOp::kLog1p:
      return [](double x) { return std::log1p(x); };
    case UnaryOp::kExpm1:
      return [](double x) { return std::expm1(x); };
    case UnaryOp::kTan:
      return [](double x) { return std::tan(x); };
    case UnaryOp::kLog2:
      return [](double x) { return std::log2(x); };
    case UnaryOp::kLog10:
      return [](double x) { return std::log10(x); };
    case UnaryOp::kMish:
      return mish;
    case UnaryOp::kSelu:
      return selu;
    default:
      return nullptr;
  }
}

// For integers and bools alone.
constexpr bool is_bitwise(BinaryOp op) { return op >= BinaryOp::kBitwiseAnd && op <= BinaryOp::kBitwiseXor; }

constexpr BinaryFormula formula_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kFmod:
      return [](double a, double b) { return std::fmod(a, b); };
    case BinaryOp::kRemainder:
      return floored_remainder<double>;
    case BinaryOp::kFloorDivide:
      return floored_quotient;
    case BinaryOp::kAtan2:
      return [](double a, double b) { return std::atan2(a, b); };
    case BinaryOp::kLogaddexp:
      return logaddexp;
    // erf'(x) = 2 / sqrt(pi) e^(-x^2)
    case BinaryOp::kErfBackward:
      return [](double grad, double x) { return grad * (2 * std::numbers::inv_sqrtpi * std::exp(-x * x)); };
    case BinaryOp::kMishBackward:
      return [](double grad, double x) { return grad * mish_derivative(x); };
    case BinaryOp::kSeluBackward:
      return [](double grad, double x) { return grad * selu_derivative(x); };
    default:
      return nullptr;
  }
}

constexpr TernaryFormula formula_of(TernaryOp op) {
  switch (op) {
    case TernaryOp::kAtan2Backward:
      return [](double grad, double a, double b) { return grad * atan2_slope(a, b); };
    case TernaryOp::kLogaddexpBackward:
      return [](double grad, double a, double b) { return grad * logaddexp_slope(a, b); };
    default:
      return nullptr;
  }
}

// Rows for map_range, rounded once to the compute type.
template <class C>
auto row_of_formula(UnaryFormula formula) {
  return [formula](const C* x, C* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<C>(formula(static_cast<double>(x[i])));
  };
}
template <class C>
auto row_of_formula(BinaryFormula formula) {
  return [formula](const C* a, const C* b, C* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<C>(formula(static_cast<double>(a[i]), static_cast<double>(b[i])));
    }
  };
}
template <class C>
auto row_of_formula(TernaryFormula formula) {
  return [formula](const C* a, const C* b, const C* c, C* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double grad = static_cast<double>(a[i]);
      out[i] = static_cast<C>(formula(grad, static_cast<double>(b[i]), static_cast<double>(c[i])));
    }
  };
}

}  // namespace halftone::cpu
