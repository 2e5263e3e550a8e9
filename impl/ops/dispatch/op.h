// The operations by number, and the properties of each: one row of a table in op.cpp. tools/check_ops.py checks that
// every operation has a row, documentation and tests.
#pragma once

#include <cstdint>

namespace halftone {

enum class Op : int32_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMatmul,
  kEinsum,
  kLinear,
  kConv1d,
  kConv2d,
  kConvTranspose1d,
  kConvTranspose2d,
  kMaxPool1d,
  kMaxPool2d,
  kAvgPool1d,
  kAvgPool2d,
  kAdaptiveAvgPool1d,
  kAdaptiveAvgPool2d,
  kAdaptiveMaxPool1d,
  kAdaptiveMaxPool2d,
  kSum,
  kMean,
  kVar,
  kStd,
  kRelu,
  kGelu,
  kSoftmax,
  kLogSoftmax,
  kCrossEntropy,
  kLayerNorm,
  kRmsNorm,
  kGroupNorm,
  kBatchNorm,
  kRescale,
  kAccuracy,
  kAmax,
  kAmin,
  kMaxDim,
  kMinDim,
  kArgmax,
  kArgmin,
  kAny,
  kAll,
  kCumsum,
  kLogSumExp,
  kMseLoss,
  kL1Loss,
  kSmoothL1Loss,
  kKlDiv,
  kBceWithLogits,
  kNllLoss,
  kReshape,
  kTranspose,
  kSlice,
  kPermute,
  kUnsqueeze,
  kSqueeze,
  kBroadcastTo,
  kCat,
  kStack,
  kSplit,
  kPad,
  kFlip,
  kTril,
  kTriu,
  kGather,
  kScatterAdd,
  kIndexSelect,
  kMaskedFill,
  kEmbedding,
  kDropout,
  kCast,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kAbs,
  kNeg,
  kSin,
  kCos,
  kSigmoid,
  kTanh,
  kSilu,
  kSoftplus,
  kMaximum,
  kMinimum,
  kPow,
  kPowScalar,
  kClamp,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLogicalAnd,
  kLogicalOr,
  kLogicalNot,
  kIsNan,
  kIsFinite,
  kWhere,
  kEnd,
};
inline constexpr int kOpCount = static_cast<int>(Op::kEnd);

// How autocast treats an operation's float operands. Must match htone_autocast_class in capi/include/halftone/amp.h.
enum class AutocastClass : int32_t { kLow = 1, kFp32 = 2, kWidest = 3, kAsIs = 4 };

AutocastClass default_autocast_class(Op op) noexcept;
// False if a dtype does not change the result of the operation (reshape): autocast never touches it.
bool is_computing(Op op) noexcept;

// The C function's name without its prefix: "log_softmax".
const char* name_of(Op op) noexcept;
// Returns false if there is no operation of that name.
bool find_op(const char* name, Op* out) noexcept;

}  // namespace halftone
