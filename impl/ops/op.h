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
};
inline constexpr int kOpCount = 14;

// The C function's name without its prefix: "log_softmax".
const char* name_of(Op op) noexcept;
// Answers whether there is an operation of that name.
bool find_op(const char* name, Op* out) noexcept;

}  // namespace halftone
