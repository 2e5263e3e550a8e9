#include "halftone/attention.h"

#include <cmath>

#include "base/call.h"
#include "ops/attention/attention.h"
#include "ops/attention/rotary.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

ops::AttentionOptions attention_options(const htone_attention_options* options) {
  const htone_attention_options settings =
      options_or_default(options, htone_attention_options(HTONE_ATTENTION_OPTIONS_INIT));
  if (!std::isfinite(settings.scale)) {
    fail(Code::kInvalidArgument, "options", "options.scale=%g, expected a finite number", settings.scale);
  }
  if (!(settings.dropout >= 0.0 && settings.dropout < 1.0)) {
    fail(Code::kInvalidArgument, "options", "options.dropout=%g, expected a number in [0, 1)", settings.dropout);
  }
  if (settings.causal == 0 && settings.causal_offset != 0) {
    fail(Code::kInvalidArgument, "options", "options.causal_offset=%lld, expected 0 where options.causal is 0",
         static_cast<long long>(settings.causal_offset));
  }
  return {.is_causal = settings.causal != 0,
          .causal_offset = settings.causal_offset,
          .scale = settings.scale,
          .dropout = settings.dropout};
}

Rotary rotary_settings(const htone_rotary_options* options) {
  const htone_rotary_options settings = options_or_default(options, htone_rotary_options(HTONE_ROTARY_OPTIONS_INIT));
  if (!(settings.base > 0.0) || std::isinf(settings.base)) {
    fail(Code::kInvalidArgument, "options", "options.base=%g, expected a positive finite number", settings.base);
  }
  constexpr int64_t kFarthest = int64_t{1} << 53;  // exact in double
  if (settings.offset < -kFarthest || settings.offset > kFarthest) {
    fail(Code::kInvalidArgument, "options", "options.offset=%lld, expected a number in [-2^53, 2^53]",
         static_cast<long long>(settings.offset));
  }
  return {.base = settings.base, .is_interleaved = settings.interleaved != 0, .offset = settings.offset};
}

}  // namespace

htone_status htone_scaled_dot_product_attention(htone_tensor* q, htone_tensor* k, htone_tensor* v, htone_tensor* mask,
                                                const htone_attention_options* options, htone_tensor** out) {
  return Pure(ops::scaled_dot_product_attention, q, k, v, optional(mask), as<attention_options>(options), out);
}

htone_status htone_rotary_embedding(htone_tensor* input, htone_tensor* positions, const htone_rotary_options* options,
                                    htone_tensor** out) {
  return Pure(ops::rotary_embedding, input, optional(positions), as<rotary_settings>(options), out);
}
