// Kernels that compute element by element.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/formula/closeness.h"
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
  kTrunc,
  kHardswish,
  kLogSigmoid,
  kErf,
  kLog1p,
  kExpm1,
  kTan,
  kLog2,
  kLog10,
  kMish,
  kSelu,
  kEnd,
};

// Backward entries take (grad_output, input of the forward op), or (grad_output, result) if marked "result".
enum class BinaryOp : int32_t {
  kAdd,
  kSubtract,
  kMultiply,
  kMaximum,  // NaN if either is NaN
  kMinimum,
  kFmod,         // the remainder of a quotient that is rounded towards 0
  kRemainder,    // the remainder of a quotient that is rounded down
  kFloorDivide,  // a quotient, rounded down. Integers of these three: see check_divisor
  kBitwiseAnd,   // integers and bools
  kBitwiseOr,    // integers and bools
  kBitwiseXor,   // integers and bools
  kDivide,
  kPower,  // special cases as in C99's pow
  kAtan2,  // special cases as in C99's atan2
  kLogaddexp,
  kPrelu,  // (x, weight): x where it is above 0, else weight * x
  kGlu,    // (a, b): a times the sigmoid of b
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
  kExpm1Backward,  // result
  kTanBackward,    // result
  kLog2Backward,
  kLog10Backward,
  kHardswishBackward,
  kLogSigmoidBackward,
  kPreluWeightBackward,
  kNanToNumBackward,
  kErfBackward,
  kMishBackward,
  kSeluBackward,
  kEnd,
};

// Operations on three inputs.
enum class TernaryOp : int32_t {
  kWhere,                  // (condition, a, b): a where the condition is not 0
  kMaximumBackward,        // (grad_output, a, b): the gradient of a, half of it at ties; for minimum pass b before a
  kLerp,                   // (a, b, weight): a + weight * (b - a)
  kPreluBackward,          // (grad_output, x, weight): the gradient of x
  kGluBackward,            // (grad_output, a, b): the gradient of b
  kPowerBaseBackward,      // (grad_output, base, exponent)
  kPowerExponentBackward,  // (grad_output, base, exponent)
  kAtan2Backward,          // (grad_output, a, b): the gradient of a; for b pass b before a, and negate
  kLogaddexpBackward,      // (grad_output, a, b): the gradient of a; for b pass b before a
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
  kLogicalXor,
  kBothFinite,
  kEitherInfinite,
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

// The numbers that replace NaN and the infinities.
struct Replacements {
  double nan;
  double positive;
  double negative;
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
  // True where a and b are close, computed in double (integers beyond 2^53 are rounded to it); `out` is bool.
  Status (*close)(Stream&, const Closeness&, const View& a, const View& b, const View& out) noexcept;
  // For divisors of integers, i64 and contiguous: returns INVALID_ARGUMENT for the first 0: "b[1, 2] is 0, ...", with
  // `name`. A device that finds it only later keeps it in its error word; the result of its division is 0 there.
  Status (*check_divisor)(Stream&, const char* name, const View& divisor) noexcept;
  // For a float output. The numbers are rounded to the compute type.
  Status (*nan_to_num)(Stream&, const Replacements&, const View& x, const View& out) noexcept;
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
  // out = x + value * a / b, likewise, for a float output.
  Status (*addcdiv)(Stream&, double value, const View& x, const View& a, const View& b, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_ELEMENTWISE_ENTRIES(X)      \
  X(ElementwiseKernels, unary)               \
  X(ElementwiseKernels, binary)              \
  X(ElementwiseKernels, ternary)             \
  X(ElementwiseKernels, compare)             \
  X(ElementwiseKernels, close)               \
  X(ElementwiseKernels, check_divisor)       \
  X(ElementwiseKernels, nan_to_num)          \
  X(ElementwiseKernels, clamp)               \
  X(ElementwiseKernels, clamp_backward)      \
  X(ElementwiseKernels, activation)          \
  X(ElementwiseKernels, activation_backward) \
  X(ElementwiseKernels, affine)              \
  X(ElementwiseKernels, addcmul)             \
  X(ElementwiseKernels, addcdiv)

}  // namespace halftone
