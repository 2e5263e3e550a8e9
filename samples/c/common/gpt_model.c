#include "gpt_model.h"

#include "failure.h"

bool gpt_model_create(htone_device* device, const gpt_shape* shape, htone_module** out) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = shape->vocabulary;
  options.positions = shape->context;
  options.layers = shape->layers;
  options.width = shape->width;
  options.heads = shape->heads;
  return ok(htone_module_create_transformer(device, &options, out));
}

/* A block multiplies each token by 12 width^2 weights: 3 in c_attn, 1 in c_proj, 8 in the feed-forward part; the head
 * multiplies it by vocabulary width. One weight costs a multiplication and an addition in forward, and twice as much in
 * backward. A query meets context / 2 keys on average, in two products. */
double gpt_model_flops_per_token(const gpt_shape* shape) {
  const double width = (double)shape->width, layers = (double)shape->layers;
  const double weights = 12 * layers * width * width + (double)shape->vocabulary * width;
  return 6 * (weights + layers * (double)shape->context * width);
}
