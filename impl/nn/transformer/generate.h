// Text from a language model: token after token, each chosen from the logits of the last position.
#pragma once

#include "nn/module.h"
#include "nn/transformer/sampling.h"

namespace halftone::nn {

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t new_tokens = 0;
  int64_t context = 0;     // the model sees at most so many of the last tokens; 0: all
  int64_t end_token = -1;  // a row that has it keeps repeating it; -1: none
  uint64_t seed = 0;
  Tensor mask;  // undefined, or [batch, time], bool or u8: 0 where a token is padding before a prompt
};

// The tokens [batch, time], at least one a row, and the new ones behind them, i64. The model takes tokens to
// [batch, time, vocabulary]; nothing is recorded. Throws SHAPE_MISMATCH naming "tokens" or "module",
// and as LeftPadding and NextLogits do for a mask.
Tensor generate(const Module& model, const Tensor& tokens, const GenerateOptions& options);

}  // namespace halftone::nn
