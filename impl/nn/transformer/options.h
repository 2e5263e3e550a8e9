// The settings of transformer modules; capi/include/halftone/transformer.h documents them.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace halftone::nn {

enum class NormPlacement { kPre, kPost };
enum class NormKind { kLayer, kRms };
enum class FeedForwardKind { kGelu, kGeluTanh, kSwiGlu };
enum class OutputHead { kNone, kTied, kOwn };
enum class PositionKind { kLearned, kRotary, kNone };

// Heads divide the width, kv_heads divide the heads.
struct AttentionModuleOptions {
  int64_t width = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  bool bias = true;
  bool is_causal = false;
  double dropout = 0.0;  // of the attention weights, in training
  DType dtype = DType::kF32;
  PositionKind position_kind = PositionKind::kNone;  // kRotary: queries and keys are rotated; the depth is even
  bool rotary_interleaved = false;
  double rotary_base = 10000.0;
};

struct TransformerOptions {
  AttentionModuleOptions attention;  // its dropout is that of all places
  int64_t hidden = 0;                // width inside of the feed-forward part
  NormPlacement norm_placement = NormPlacement::kPre;
  NormKind norm_kind = NormKind::kLayer;
  FeedForwardKind feed_forward = FeedForwardKind::kGeluTanh;
  double epsilon = 1e-5;
  // Settings of whole models. A block alone uses the layers for its initialisation.
  int64_t layers = 1;
  int64_t vocabulary = 0;
  int64_t positions = 0;  // the most tokens in a row, where positions are learned
  OutputHead head = OutputHead::kTied;
};

// Weights begin as GPT-2's: normal, those that write to the residual stream smaller by sqrt(2 layers).
inline constexpr double kWeightStd = 0.02;

}  // namespace halftone::nn
