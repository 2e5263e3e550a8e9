// The logits of the token that follows a text, which grows from call to call. generate uses it. One thread.
#pragma once

#include <vector>

#include "nn/module.h"
#include "nn/transformer/left_padding.h"

namespace halftone::nn {

class Transformer;

// A transformer whose results a cache leaves as they are runs each token once, with a cache, as long as the text fits
// the context. Other models run all tokens of the context each time. They must do so when the context begins to slide:
// each token then has another position, and in all layers but the first its keys and values depend on tokens that the
// context has lost.
class NextLogits {
 public:
  // The model sees at most `context` of the last tokens; 0: all. Padding is hidden from it, and takes no position.
  // Throws UNSUPPORTED naming "options" for padding and a model other than a transformer. REQUIRES: the model outlives
  // this object.
  NextLogits(const Module& model, int64_t context, LeftPadding padding);

  // [batch, vocabulary] in row-major order. REQUIRES: tokens [batch, time], time > 0, begin with those of the calls
  // before. Throws SHAPE_MISMATCH naming "module" where it returns no logits, and naming "tokens" where a row with
  // padding has more of them than the model has positions.
  std::vector<double> after(const Tensor& tokens);

 private:
  // [batch, time, vocabulary], of the last tokens.
  Tensor logits_of(const Tensor& tokens);
  Tensor cached_logits(const Tensor& tokens);
  // The model's output for the columns [from, time) of `tokens`, if it sees those from `begin` on. `cache` is optional.
  Tensor run_columns(const Tensor& tokens, int64_t begin, int64_t from, const Tensor& cache) const;
  // Gives the cache so many positions at least.
  void reserve(int64_t batch, int64_t positions);

  const Module& model_;
  const Transformer* transformer_;  // null: another model, which has neither cache nor mask
  bool can_cache_;
  int64_t context_;  // the most tokens that the model sees
  LeftPadding padding_;
  Tensor cache_;  // [layers, 2, batch, kv_heads, positions, depth], of which `seen_` are filled
  int64_t seen_ = 0;
};

}  // namespace halftone::nn
