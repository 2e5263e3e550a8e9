#include "ops/dispatch/op.h"

#include <cstddef>
#include <cstring>

namespace halftone {

namespace {

// kYes: a dtype changes the result of the operation, so a policy may override its class.
enum class Computes { kNo, kYes };

struct Row {
  Op op;
  const char* name;
  AutocastClass autocast;
  Computes computes = Computes::kYes;
};

constexpr Row kRows[] = {
    {Op::kAdd, "add", AutocastClass::kWidest},
    {Op::kSub, "sub", AutocastClass::kWidest},
    {Op::kMul, "mul", AutocastClass::kWidest},
    {Op::kDiv, "div", AutocastClass::kWidest},
    {Op::kMatmul, "matmul", AutocastClass::kLow},
    {Op::kEinsum, "einsum", AutocastClass::kLow},
    {Op::kLinear, "linear", AutocastClass::kLow},
    {Op::kLinearActivation, "linear_activation", AutocastClass::kLow},
    {Op::kActivationLinear, "activation_linear", AutocastClass::kLow},
    {Op::kAbsMax, "abs_max", AutocastClass::kAsIs, Computes::kNo},
    {Op::kQuantizeScale, "quantize_scale", AutocastClass::kAsIs, Computes::kNo},
    {Op::kQuantize, "quantize", AutocastClass::kAsIs, Computes::kNo},
    {Op::kScaledMatmul, "scaled_matmul", AutocastClass::kAsIs, Computes::kNo},
    {Op::kScaledDotProductAttention, "scaled_dot_product_attention", AutocastClass::kLow},
    {Op::kRotaryEmbedding, "rotary_embedding", AutocastClass::kAsIs},
    {Op::kConv1d, "conv1d", AutocastClass::kLow},
    {Op::kConv2d, "conv2d", AutocastClass::kLow},
    {Op::kConvTranspose1d, "conv_transpose1d", AutocastClass::kLow},
    {Op::kConvTranspose2d, "conv_transpose2d", AutocastClass::kLow},
    {Op::kConv3d, "conv3d", AutocastClass::kLow},
    {Op::kConvTranspose3d, "conv_transpose3d", AutocastClass::kLow},
    {Op::kMaxPool1d, "max_pool1d", AutocastClass::kAsIs},
    {Op::kMaxPool2d, "max_pool2d", AutocastClass::kAsIs},
    {Op::kAvgPool1d, "avg_pool1d", AutocastClass::kAsIs},
    {Op::kAvgPool2d, "avg_pool2d", AutocastClass::kAsIs},
    {Op::kMaxPool3d, "max_pool3d", AutocastClass::kAsIs},
    {Op::kAvgPool3d, "avg_pool3d", AutocastClass::kAsIs},
    {Op::kAdaptiveAvgPool1d, "adaptive_avg_pool1d", AutocastClass::kAsIs},
    {Op::kAdaptiveAvgPool2d, "adaptive_avg_pool2d", AutocastClass::kAsIs},
    {Op::kAdaptiveMaxPool1d, "adaptive_max_pool1d", AutocastClass::kAsIs},
    {Op::kAdaptiveMaxPool2d, "adaptive_max_pool2d", AutocastClass::kAsIs},
    {Op::kUpsampleNearest1d, "upsample_nearest1d", AutocastClass::kAsIs},
    {Op::kUpsampleNearest2d, "upsample_nearest2d", AutocastClass::kAsIs},
    {Op::kUpsampleLinear1d, "upsample_linear1d", AutocastClass::kAsIs},
    {Op::kUpsampleBilinear2d, "upsample_bilinear2d", AutocastClass::kAsIs},
    {Op::kSum, "sum", AutocastClass::kFp32},
    {Op::kMean, "mean", AutocastClass::kFp32},
    {Op::kVar, "var", AutocastClass::kFp32},
    {Op::kStd, "std", AutocastClass::kFp32},
    {Op::kRelu, "relu", AutocastClass::kAsIs},
    {Op::kGelu, "gelu", AutocastClass::kAsIs},
    {Op::kGlu, "glu", AutocastClass::kAsIs},
    {Op::kPrelu, "prelu", AutocastClass::kLow},
    {Op::kSoftmax, "softmax", AutocastClass::kFp32},
    {Op::kLogSoftmax, "log_softmax", AutocastClass::kFp32},
    {Op::kCrossEntropy, "cross_entropy", AutocastClass::kFp32},
    {Op::kLinearCrossEntropy, "linear_cross_entropy", AutocastClass::kLow},
    {Op::kLayerNorm, "layer_norm", AutocastClass::kFp32},
    {Op::kRmsNorm, "rms_norm", AutocastClass::kFp32},
    {Op::kGroupNorm, "group_norm", AutocastClass::kFp32},
    {Op::kInstanceNorm, "instance_norm", AutocastClass::kFp32},
    {Op::kBatchNorm, "batch_norm", AutocastClass::kFp32},
    {Op::kRescale, "rescale", AutocastClass::kAsIs},
    {Op::kAccuracy, "accuracy", AutocastClass::kAsIs, Computes::kNo},
    {Op::kAmax, "amax", AutocastClass::kAsIs, Computes::kNo},
    {Op::kAmin, "amin", AutocastClass::kAsIs, Computes::kNo},
    {Op::kMaxDim, "max_dim", AutocastClass::kAsIs, Computes::kNo},
    {Op::kMinDim, "min_dim", AutocastClass::kAsIs, Computes::kNo},
    {Op::kArgmax, "argmax", AutocastClass::kAsIs, Computes::kNo},
    {Op::kArgmin, "argmin", AutocastClass::kAsIs, Computes::kNo},
    {Op::kAny, "any", AutocastClass::kAsIs, Computes::kNo},
    {Op::kAll, "all", AutocastClass::kAsIs, Computes::kNo},
    {Op::kCumsum, "cumsum", AutocastClass::kFp32},
    {Op::kProd, "prod", AutocastClass::kFp32},
    {Op::kCumprod, "cumprod", AutocastClass::kFp32},
    {Op::kVectorNorm, "vector_norm", AutocastClass::kFp32},
    {Op::kVarMean, "var_mean", AutocastClass::kFp32},
    {Op::kLogSumExp, "log_sum_exp", AutocastClass::kFp32},
    {Op::kMseLoss, "mse_loss", AutocastClass::kFp32},
    {Op::kL1Loss, "l1_loss", AutocastClass::kFp32},
    {Op::kSmoothL1Loss, "smooth_l1_loss", AutocastClass::kFp32},
    {Op::kHuberLoss, "huber_loss", AutocastClass::kFp32},
    {Op::kKlDiv, "kl_div", AutocastClass::kFp32},
    {Op::kBceWithLogits, "bce_with_logits", AutocastClass::kFp32},
    {Op::kBceLoss, "bce_loss", AutocastClass::kFp32},
    {Op::kNllLoss, "nll_loss", AutocastClass::kFp32},
    {Op::kGaussianNllLoss, "gaussian_nll_loss", AutocastClass::kFp32},
    {Op::kMarginRankingLoss, "margin_ranking_loss", AutocastClass::kFp32},
    {Op::kCosineEmbeddingLoss, "cosine_embedding_loss", AutocastClass::kFp32},
    {Op::kTripletMarginLoss, "triplet_margin_loss", AutocastClass::kFp32},
    {Op::kNormalize, "normalize", AutocastClass::kFp32},
    {Op::kCosineSimilarity, "cosine_similarity", AutocastClass::kFp32},
    {Op::kPairwiseDistance, "pairwise_distance", AutocastClass::kFp32},
    {Op::kCdist, "cdist", AutocastClass::kFp32},
    {Op::kReshape, "reshape", AutocastClass::kAsIs, Computes::kNo},
    {Op::kTranspose, "transpose", AutocastClass::kAsIs, Computes::kNo},
    {Op::kSlice, "slice", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPermute, "permute", AutocastClass::kAsIs, Computes::kNo},
    {Op::kUnsqueeze, "unsqueeze", AutocastClass::kAsIs, Computes::kNo},
    {Op::kSqueeze, "squeeze", AutocastClass::kAsIs, Computes::kNo},
    {Op::kBroadcastTo, "broadcast_to", AutocastClass::kAsIs, Computes::kNo},
    {Op::kCat, "cat", AutocastClass::kWidest},
    {Op::kStack, "stack", AutocastClass::kWidest},
    {Op::kSplit, "split", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPad, "pad", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPadReflect, "pad_reflect", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPadReplicate, "pad_replicate", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPadCircular, "pad_circular", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPixelShuffle, "pixel_shuffle", AutocastClass::kAsIs, Computes::kNo},
    {Op::kPixelUnshuffle, "pixel_unshuffle", AutocastClass::kAsIs, Computes::kNo},
    {Op::kUnfold, "unfold", AutocastClass::kAsIs, Computes::kNo},
    {Op::kFold, "fold", AutocastClass::kAsIs},
    {Op::kFlip, "flip", AutocastClass::kAsIs, Computes::kNo},
    {Op::kTile, "tile", AutocastClass::kAsIs, Computes::kNo},
    {Op::kRoll, "roll", AutocastClass::kAsIs, Computes::kNo},
    {Op::kTril, "tril", AutocastClass::kAsIs, Computes::kNo},
    {Op::kTriu, "triu", AutocastClass::kAsIs, Computes::kNo},
    {Op::kGather, "gather", AutocastClass::kAsIs, Computes::kNo},
    {Op::kScatterAdd, "scatter_add", AutocastClass::kWidest},
    {Op::kIndexSelect, "index_select", AutocastClass::kAsIs, Computes::kNo},
    {Op::kMaskedFill, "masked_fill", AutocastClass::kAsIs, Computes::kNo},
    {Op::kEmbedding, "embedding", AutocastClass::kAsIs, Computes::kNo},
    {Op::kSort, "sort", AutocastClass::kAsIs, Computes::kNo},
    {Op::kArgsort, "argsort", AutocastClass::kAsIs, Computes::kNo},
    {Op::kTopk, "topk", AutocastClass::kAsIs, Computes::kNo},
    {Op::kMultinomial, "multinomial", AutocastClass::kAsIs, Computes::kNo},
    {Op::kNonzero, "nonzero", AutocastClass::kAsIs, Computes::kNo},
    {Op::kDropout, "dropout", AutocastClass::kAsIs},
    {Op::kCast, "cast", AutocastClass::kAsIs, Computes::kNo},
    {Op::kExp, "exp", AutocastClass::kFp32},
    {Op::kLog, "log", AutocastClass::kFp32},
    {Op::kSqrt, "sqrt", AutocastClass::kAsIs},
    {Op::kRsqrt, "rsqrt", AutocastClass::kFp32},
    {Op::kReciprocal, "reciprocal", AutocastClass::kFp32},
    {Op::kAbs, "abs", AutocastClass::kAsIs},
    {Op::kNeg, "neg", AutocastClass::kAsIs},
    {Op::kSin, "sin", AutocastClass::kAsIs},
    {Op::kCos, "cos", AutocastClass::kAsIs},
    {Op::kSigmoid, "sigmoid", AutocastClass::kAsIs},
    {Op::kTanh, "tanh", AutocastClass::kAsIs},
    {Op::kSilu, "silu", AutocastClass::kAsIs},
    {Op::kSoftplus, "softplus", AutocastClass::kFp32},
    {Op::kHardswish, "hardswish", AutocastClass::kAsIs},
    {Op::kMish, "mish", AutocastClass::kAsIs},
    {Op::kSelu, "selu", AutocastClass::kAsIs},
    {Op::kLogSigmoid, "log_sigmoid", AutocastClass::kAsIs},
    {Op::kMaximum, "maximum", AutocastClass::kWidest},
    {Op::kMinimum, "minimum", AutocastClass::kWidest},
    {Op::kFmod, "fmod", AutocastClass::kWidest},
    {Op::kRemainder, "remainder", AutocastClass::kWidest},
    {Op::kFloorDivide, "floor_divide", AutocastClass::kWidest},
    {Op::kAtan2, "atan2", AutocastClass::kWidest},
    {Op::kLogaddexp, "logaddexp", AutocastClass::kWidest},
    {Op::kPow, "pow", AutocastClass::kFp32},
    {Op::kPowScalar, "pow_scalar", AutocastClass::kFp32},
    {Op::kClamp, "clamp", AutocastClass::kAsIs},
    {Op::kFloor, "floor", AutocastClass::kAsIs},
    {Op::kCeil, "ceil", AutocastClass::kAsIs},
    {Op::kRound, "round", AutocastClass::kAsIs},
    {Op::kTrunc, "trunc", AutocastClass::kAsIs},
    {Op::kSign, "sign", AutocastClass::kAsIs},
    {Op::kErf, "erf", AutocastClass::kAsIs},
    {Op::kLog1p, "log1p", AutocastClass::kFp32},
    {Op::kExpm1, "expm1", AutocastClass::kFp32},
    {Op::kTan, "tan", AutocastClass::kFp32},
    {Op::kLog2, "log2", AutocastClass::kFp32},
    {Op::kLog10, "log10", AutocastClass::kFp32},
    {Op::kNanToNum, "nan_to_num", AutocastClass::kAsIs},
    {Op::kLeakyRelu, "leaky_relu", AutocastClass::kAsIs},
    {Op::kElu, "elu", AutocastClass::kAsIs},
    {Op::kAddScalar, "add_scalar", AutocastClass::kAsIs},
    {Op::kSubScalar, "sub_scalar", AutocastClass::kAsIs},
    {Op::kMulScalar, "mul_scalar", AutocastClass::kAsIs},
    {Op::kDivScalar, "div_scalar", AutocastClass::kAsIs},
    {Op::kAddcmul, "addcmul", AutocastClass::kWidest},
    {Op::kAddcdiv, "addcdiv", AutocastClass::kWidest},
    {Op::kLerp, "lerp", AutocastClass::kWidest},
    {Op::kLerpScalar, "lerp_scalar", AutocastClass::kWidest},
    {Op::kEqScalar, "eq_scalar", AutocastClass::kAsIs, Computes::kNo},
    {Op::kNeScalar, "ne_scalar", AutocastClass::kAsIs, Computes::kNo},
    {Op::kLtScalar, "lt_scalar", AutocastClass::kAsIs, Computes::kNo},
    {Op::kLeScalar, "le_scalar", AutocastClass::kAsIs, Computes::kNo},
    {Op::kGtScalar, "gt_scalar", AutocastClass::kAsIs, Computes::kNo},
    {Op::kGeScalar, "ge_scalar", AutocastClass::kAsIs, Computes::kNo},
    {Op::kEq, "eq", AutocastClass::kWidest},
    {Op::kNe, "ne", AutocastClass::kWidest},
    {Op::kLt, "lt", AutocastClass::kWidest},
    {Op::kLe, "le", AutocastClass::kWidest},
    {Op::kGt, "gt", AutocastClass::kWidest},
    {Op::kGe, "ge", AutocastClass::kWidest},
    {Op::kLogicalAnd, "logical_and", AutocastClass::kAsIs, Computes::kNo},
    {Op::kLogicalOr, "logical_or", AutocastClass::kAsIs, Computes::kNo},
    {Op::kLogicalXor, "logical_xor", AutocastClass::kAsIs, Computes::kNo},
    {Op::kLogicalNot, "logical_not", AutocastClass::kAsIs, Computes::kNo},
    {Op::kIsNan, "is_nan", AutocastClass::kAsIs, Computes::kNo},
    {Op::kIsFinite, "is_finite", AutocastClass::kAsIs, Computes::kNo},
    {Op::kIsInf, "is_inf", AutocastClass::kAsIs, Computes::kNo},
    {Op::kIsClose, "is_close", AutocastClass::kWidest},
    {Op::kBitwiseAnd, "bitwise_and", AutocastClass::kAsIs, Computes::kNo},
    {Op::kBitwiseOr, "bitwise_or", AutocastClass::kAsIs, Computes::kNo},
    {Op::kBitwiseXor, "bitwise_xor", AutocastClass::kAsIs, Computes::kNo},
    {Op::kBitwiseNot, "bitwise_not", AutocastClass::kAsIs, Computes::kNo},
    {Op::kWhere, "where", AutocastClass::kWidest},
};

// Rows are in the order of the enumeration, so that an operation's number is its row's index.
constexpr bool rows_match_numbers() {
  for (int i = 0; i < kOpCount; ++i) {
    if (kRows[i].op != static_cast<Op>(i)) return false;
  }
  return sizeof kRows / sizeof kRows[0] == static_cast<size_t>(kOpCount);
}
static_assert(rows_match_numbers());

const Row& row_of(Op op) noexcept { return kRows[static_cast<int>(op)]; }

}  // namespace

const char* name_of(Op op) noexcept { return row_of(op).name; }
AutocastClass default_autocast_class(Op op) noexcept { return row_of(op).autocast; }
bool is_computing(Op op) noexcept { return row_of(op).computes == Computes::kYes; }

bool find_op(const char* name, Op* out) noexcept {
  for (const Row& row : kRows) {
    if (std::strcmp(row.name, name) == 0) {
      *out = row.op;
      return true;
    }
  }
  return false;
}

}  // namespace halftone
