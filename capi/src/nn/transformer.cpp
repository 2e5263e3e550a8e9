#include "halftone/transformer.h"

#include <cmath>

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/norm_arguments.h"
#include "nn/transformer/attention.h"
#include "nn/transformer/block.h"
#include "nn/transformer/transformer.h"
#include "runtime/handles.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// With these limits the bytes of every weight can be counted in 64 bits.
constexpr int64_t kMostTokens = int64_t{1} << 31;
constexpr int64_t kMostWidth = int64_t{1} << 24;
constexpr int64_t kMostHidden = int64_t{1} << 26;
constexpr int64_t kMostBlocks = 4096;

// `shown` names the value in the message, "options.width" for a field; `argument` is the parameter.
int64_t size_in_range(int64_t value, int64_t most, const char* argument, const char* shown) {
  if (value >= 1 && value <= most) return value;
  fail(Code::kInvalidArgument, argument, "%s=%lld is outside [1, %lld]", shown, static_cast<long long>(value),
       static_cast<long long>(most));
}

void require_divides(int64_t divisor, int64_t number, const char* argument, const char* shown,
                     const char* shown_number) {
  if (divisor >= 1 && number % divisor == 0) return;
  fail(Code::kInvalidArgument, argument, "%s=%lld does not divide %s=%lld", shown, static_cast<long long>(divisor),
       shown_number, static_cast<long long>(number));
}

double dropout_option(double dropout) {
  if (dropout >= 0.0 && dropout < 1.0) return dropout;
  fail(Code::kInvalidArgument, "options", "options.dropout=%g, expected a number in [0, 1)", dropout);
}

// The value of an enumeration that begins with 0.
template <class Value>
Value choice_option(int value, int count, const char* shown) {
  if (value >= 0 && value < count) return static_cast<Value>(value);
  fail(Code::kInvalidArgument, "options", "%s=%d is no value of its enumeration", shown, value);
}

double rotary_base_option(double base) {
  if (base > 0.0 && std::isfinite(base)) return base;
  fail(Code::kInvalidArgument, "options", "options.rotary_base=%g, expected a positive finite number", base);
}

// Rotation needs pairs of elements.
nn::PositionKind position_kind(nn::PositionKind kind, int64_t width, int64_t heads, const char* shown) {
  if (kind != nn::PositionKind::kRotary || width / heads % 2 == 0) return kind;
  fail(Code::kInvalidArgument, "options", "%s: rotary positions need an even width / heads, which is %lld", shown,
       static_cast<long long>(width / heads));
}

struct MultiheadSizes {
  int64_t width;
  int64_t heads;
};
MultiheadSizes multihead_sizes(int64_t width, int64_t heads) {
  size_in_range(width, kMostWidth, "width", "width");
  require_divides(heads, width, "heads", "heads", "width");
  return {width, heads};
}

// Heads of keys and values; 0 stands for as many as there are heads.
int64_t checked_kv_heads(int64_t kv_heads, int64_t heads, const char* shown_heads) {
  if (kv_heads == 0) return heads;
  require_divides(kv_heads, heads, "options", "options.kv_heads", shown_heads);
  return kv_heads;
}

htone_multihead_attention_options multihead_options(const htone_multihead_attention_options* options) {
  const htone_multihead_attention_options given =
      options_or_default(options, htone_multihead_attention_options(HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT));
  checked_weight_dtype(given.dtype, "options", "options.dtype");
  dropout_option(given.dropout);
  rotary_base_option(given.rotary_base);
  return given;
}

Ref<nn::Module> make_multihead(ContextDevice& device, const MultiheadSizes& sizes,
                               const htone_multihead_attention_options& options) {
  return make_ref<nn::MultiheadAttention>(
      device,
      nn::AttentionModuleOptions{
          .width = sizes.width,
          .heads = sizes.heads,
          .kv_heads = checked_kv_heads(options.kv_heads, sizes.heads, "heads"),
          .bias = options.bias != 0,
          .is_causal = options.causal != 0,
          .dropout = options.dropout,
          .dtype = static_cast<DType>(options.dtype),
          .position_kind = position_kind(options.rotary != 0 ? nn::PositionKind::kRotary : nn::PositionKind::kNone,
                                         sizes.width, sizes.heads, "options.rotary"),
          .rotary_interleaved = options.rotary_interleaved != 0,
          .rotary_base = options.rotary_base},
      nn::kWeightStd);
}

nn::TransformerOptions transformer_options(const htone_transformer_options* options) {
  const htone_transformer_options given =
      options_or_default(options, htone_transformer_options(HTONE_TRANSFORMER_OPTIONS_INIT));
  size_in_range(given.width, kMostWidth, "options", "options.width");
  require_divides(given.heads, given.width, "options", "options.heads", "options.width");
  const int64_t hidden = given.hidden == 0 ? 4 * given.width : given.hidden;
  return {.attention = {.width = given.width,
                        .heads = given.heads,
                        .kv_heads = checked_kv_heads(given.kv_heads, given.heads, "options.heads"),
                        .bias = given.bias != 0,
                        .is_causal = given.causal != 0,
                        .dropout = dropout_option(given.dropout),
                        .dtype = checked_weight_dtype(given.dtype, "options", "options.dtype"),
                        .position_kind = position_kind(
                            choice_option<nn::PositionKind>(given.position_kind, 3, "options.position_kind"),
                            given.width, given.heads, "options.position_kind"),
                        .rotary_interleaved = given.rotary_interleaved != 0,
                        .rotary_base = rotary_base_option(given.rotary_base)},
          .hidden = size_in_range(hidden, kMostHidden, "options", "options.hidden"),
          .norm_placement = choice_option<nn::NormPlacement>(given.norm_placement, 2, "options.norm_placement"),
          .norm_kind = choice_option<nn::NormKind>(given.norm_kind, 2, "options.norm_kind"),
          .feed_forward = choice_option<nn::FeedForwardKind>(given.feed_forward, 3, "options.feed_forward"),
          .epsilon = (require_epsilon(given.epsilon, "options", "options.epsilon"), given.epsilon),
          .layers = size_in_range(given.layers, kMostBlocks, "options", "options.layers"),
          .vocabulary = size_in_range(given.vocabulary, kMostTokens, "options", "options.vocabulary"),
          .positions = size_in_range(given.positions, kMostTokens, "options", "options.positions"),
          .head = choice_option<nn::OutputHead>(given.head, 3, "options.head")};
}

}  // namespace

static_assert(static_cast<int>(nn::NormPlacement::kPost) == HTONE_NORM_POST);
static_assert(static_cast<int>(nn::NormKind::kRms) == HTONE_NORM_RMS);
static_assert(static_cast<int>(nn::FeedForwardKind::kGeluTanh) == HTONE_FEED_FORWARD_GELU_TANH);
static_assert(static_cast<int>(nn::FeedForwardKind::kSwiGlu) == HTONE_FEED_FORWARD_SWIGLU);
static_assert(static_cast<int>(nn::OutputHead::kTied) == HTONE_HEAD_TIED);
static_assert(static_cast<int>(nn::OutputHead::kOwn) == HTONE_HEAD_OWN);
static_assert(static_cast<int>(nn::PositionKind::kRotary) == HTONE_POSITION_ROTARY);
static_assert(static_cast<int>(nn::PositionKind::kNone) == HTONE_POSITION_NONE);

htone_status htone_module_create_multihead_attention(htone_device* device, int64_t width, int64_t heads,
                                                     const htone_multihead_attention_options* options,
                                                     htone_module** out) {
  return Call(make_multihead, device, as<multihead_sizes>(width, heads), as<multihead_options>(options), out);
}

htone_status htone_module_create_transformer_block(htone_device* device, const htone_transformer_options* options,
                                                   htone_module** out) {
  return Call(make<nn::TransformerBlock>, device, as<transformer_options>(options), out);
}

htone_status htone_module_create_transformer(htone_device* device, const htone_transformer_options* options,
                                             htone_module** out) {
  return Call(make<nn::Transformer>, device, as<transformer_options>(options), out);
}
