// The operations by number, for tables such as autocast's.
#pragma once

#include <cstdint>

namespace halftone {

enum class Op : int32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMatmul,
  kLinear,
  kSum,
  kMean,
  kRelu,
  kGelu,
  kSoftmax,
  kLogSoftmax,
  kCrossEntropy,
  kRescale,
  // These compute nothing that a dtype could change, and are never touched by autocast.
  kAccuracy,
  kReshape,
  kTranspose,
  kSlice,
  kCast,
};
inline constexpr int kOpCount = 19;
constexpr bool is_computing(Op op) { return op < Op::kAccuracy; }

// The C function's name without its prefix: "log_softmax".
const char* name_of(Op op) noexcept;
// Answers whether there is an operation of that name.
bool find_op(const char* name, Op* out) noexcept;

}  // namespace halftone
