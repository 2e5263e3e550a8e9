// Kernels that compute element by element.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

enum class UnaryOp : int32_t {
  kNegate,
  kAbs,
  kSign,  // 0 for NaN
  kRelu,
  kGeluErf,
  kGeluTanh,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSin,
  kCos,
  kSigmoid,
  kTanh,
  kSilu,
  kSoftplus,
  kFloor,
  kCeil,
  kRound,  // halves to even
  kErf,
  kLog1p,
  kExpm1,
  kEnd,
};

// Backward entries take (grad_output, input of the forward op), or (grad_output, result) if marked "result".
enum class BinaryOp : int32_t {
  kAdd,
  kSubtract,
  kMultiply,
  kMaximum,  // NaN if either is NaN
  kMinimum,
  kDivide,
  kPower,  // special cases as in C99's pow
  kReluBackward,
  kGeluErfBackward,
  kGeluTanhBackward,
  kAbsBackward,
  kSqrtBackward,        // result
  kRsqrtBackward,       // result
  kReciprocalBackward,  // result
  kSinBackward,
  kCosBackward,
  kSigmoidBackward,  // result
  kTanhBackward,     // result
  kSiluBackward,
  kSoftplusBackward,
  kErfBackward,
  kExpm1Backward,  // result
  kEnd,
};

// Operations on three inputs.
enum class TernaryOp : int32_t {
  kWhere,                  // (condition, a, b): a where the condition is not 0
  kMaximumBackward,        // (grad_output, a, b): the gradient of a, half of it at ties; for minimum pass b before a
  kPowerBaseBackward,      // (grad_output, base, exponent)
  kPowerExponentBackward,  // (grad_output, base, exponent)
  kEnd,
};

// Operations on two inputs with a bool result. NaN is unequal to everything, unordered, and not 0. For greater, swap
// the inputs of less.
enum class CompareOp : int32_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kLogicalAnd,
  kLogicalOr,
  kBothFinite,
  kEnd,
};

// Activations with a number.
enum class ActivationOp : int32_t {
  kLeakyRelu,  // the number is the slope below 0
  kElu,        // the number scales the curve below 0
};
struct Activation {
  ActivationOp op;
  double number;
};

// Either bound may be infinite. If low is above high every element becomes high.
struct Bounds {
  double low;
  double high;
};

// Inputs may have other dtypes than the output: they are widened to the compute type that belongs to the output's dtype
// (f64: double, other floats: FP32, integers: int64), and the result is rounded once. The exponent of kPower and
// kPowerBaseBackward stays a double if it is one f64 element, finite and repeated. Shapes equal the output's; a stride
// of 0 broadcasts. An output may be one of the inputs if both have the same layout.
struct ElementwiseKernels {
  Status (*unary)(Stream&, UnaryOp op, const View& x, const View& out) noexcept;
  Status (*binary)(Stream&, BinaryOp op, const View& a, const View& b, const View& out) noexcept;
  Status (*ternary)(Stream&, TernaryOp op, const View& a, const View& b, const View& c, const View& out) noexcept;
  // Compares in the compute type of the inputs' promoted dtype; `out` is bool.
  Status (*compare)(Stream&, CompareOp op, const View& a, const View& b, const View& out) noexcept;
  // out = x within bounds, for a float output; NaN stays NaN. Backward passes the gradient for elements strictly within
  // the bounds; at a finite bound the gradient is 0.
  Status (*clamp)(Stream&, const Bounds& bounds, const View& x, const View& out) noexcept;
  Status (*clamp_backward)(Stream&, const Bounds& bounds, const View& grad_output, const View& x,
                           const View& out) noexcept;
  // For a float output. Backward computes from x, the input.
  Status (*activation)(Stream&, const Activation&, const View& x, const View& out) noexcept;
  Status (*activation_backward)(Stream&, const Activation&, const View& grad_output, const View& x,
                                const View& out) noexcept;
  // out = x * scale + shift, for a float output.
  Status (*affine)(Stream&, double scale, double shift, const View& x, const View& out) noexcept;
  // out = x + value * a * b, from left to right: value * a first. For an integer output the value is whole.
  Status (*addcmul)(Stream&, double value, const View& x, const View& a, const View& b, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_ELEMENTWISE_ENTRIES(X)      \
  X(ElementwiseKernels, unary)               \
  X(ElementwiseKernels, binary)              \
  X(ElementwiseKernels, ternary)             \
  X(ElementwiseKernels, compare)             \
  X(ElementwiseKernels, clamp)               \
  X(ElementwiseKernels, clamp_backward)      \
  X(ElementwiseKernels, activation)          \
  X(ElementwiseKernels, activation_backward) \
  X(ElementwiseKernels, affine)              \
  X(ElementwiseKernels, addcmul)

}  // namespace halftone
