// The choice of the next token from logits, on the CPU in double, so that a seed gives the same tokens on every machine
// whose logits are equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halftone::nn {

struct SamplingOptions {
  double temperature = 1.0;  // 0: always the most likely token
  int64_t top_k = 0;         // 0: all tokens
  double top_p = 1.0;
};

// A token and its share of what may be drawn.
struct Candidate {
  int64_t token;
  double probability;
};

// The tokens that may be drawn, from the most likely, with probabilities of sum 1: the top_k most likely, and of these
// the fewest whose probabilities add up to top_p. Equal logits are in the order of tokens; NaN counts as the least.
// REQUIRES: at least one logit; temperature above 0.
std::vector<Candidate> candidates(std::span<const double> logits, const SamplingOptions& options);

// `uniform` is in [0, 1).
int64_t sampled_token(std::span<const double> logits, const SamplingOptions& options, double uniform);

}  // namespace halftone::nn
