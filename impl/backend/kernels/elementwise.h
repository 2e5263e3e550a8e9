// Kernels that compute element by element.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

enum class UnaryOp : int32_t {
  kNegate,
  kAbs,
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
  kEnd,
};

// The backward entries take (grad_output, input of the forward op) or, where said, its result.
enum class BinaryOp : int32_t {
  kAdd,
  kSubtract,
  kMultiply,
  kMaximum,  // NaN where either is
  kMinimum,
  kDivide,
  kPower,  // the cases of C99's pow
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
  kEnd,
};

// Of three inputs.
enum class TernaryOp : int32_t {
  kWhere,                  // (condition, a, b): a where the condition is not 0
  kMaximumBackward,        // (grad_output, a, b): the gradient of a, half of it at ties; of minimum with b before a
  kPowerBaseBackward,      // (grad_output, base, exponent)
  kPowerExponentBackward,  // (grad_output, base, exponent)
  kEnd,
};

// Of two inputs, answered as bool. NaN is unequal to everything, in no order, and not 0. Greater is less with the
// inputs changed over.
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

// Either may be infinite; where low is above high everything becomes high.
struct Bounds {
  double low;
  double high;
};

// Inputs may have other dtypes than the output: they are widened to the compute type that the output's dtype names
// (f64: double, other floats: FP32, integers: int64) and the result is rounded once. The exponent of kPower and
// kPowerBaseBackward stays a double where it is one f64 element, finite and repeated. Shapes equal the output's;
// broadcasting is a stride of 0. An output may be one of the inputs, element on element.
struct ElementwiseKernels {
  Status (*unary)(Stream&, UnaryOp op, const View& x, const View& out) noexcept;
  Status (*binary)(Stream&, BinaryOp op, const View& a, const View& b, const View& out) noexcept;
  Status (*ternary)(Stream&, TernaryOp op, const View& a, const View& b, const View& c, const View& out) noexcept;
  // Compares in the compute type of the inputs' promoted dtype; `out` is bool.
  Status (*compare)(Stream&, CompareOp op, const View& a, const View& b, const View& out) noexcept;
  // out = x within bounds, NaN kept, for a float output; backward passes the gradient within, not at finite ones.
  Status (*clamp)(Stream&, const Bounds& bounds, const View& x, const View& out) noexcept;
  Status (*clamp_backward)(Stream&, const Bounds& bounds, const View& grad_output, const View& x,
                           const View& out) noexcept;
  // out = x * scale + shift, for a float output.
  Status (*affine)(Stream&, double scale, double shift, const View& x, const View& out) noexcept;
};

}  // namespace halftone
