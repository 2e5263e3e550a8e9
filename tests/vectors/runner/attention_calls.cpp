// Attention, and rotary embedding.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

Tensors scaled_dot_product_attention(const Call& call) {
  htone_attention_options options;
  ok(htone_attention_options_init(&options));
  options.causal = int32_t{call.flag("causal")};
  options.causal_offset = call.whole("causal_offset");
  options.scale = call.number("scale");
  return results(compute(htone_scaled_dot_product_attention, call.inputs[0], call.inputs[1], call.inputs[2],
                         call.inputs[3], &options));
}

Tensors rotary_embedding(const Call& call) {
  htone_rotary_options options;
  ok(htone_rotary_options_init(&options));
  options.interleaved = int32_t{call.flag("interleaved")};
  options.base = call.number("base", options.base);
  options.offset = call.whole("offset");
  return results(compute(htone_rotary_embedding, call.inputs[0], call.inputs[1], &options));
}

}  // namespace

Calls attention_calls() {
  return {{"scaled_dot_product_attention", scaled_dot_product_attention}, {"rotary_embedding", rotary_embedding}};
}

}  // namespace vectors
