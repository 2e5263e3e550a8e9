// Attention alone, in forms that keep different things for backward: the plain one keeps the matrix of its weights, the
// library's one keeps queries, keys, values and the result, and recomputation keeps the result. For recompute_bench.
#pragma once

#include <halftone/htone.hpp>
#include <vector>

namespace halftone::bench {

struct AttentionSizes {
  int64_t batch;
  int64_t context;
  int64_t width;
  int64_t heads;
};

// A causal self-attention with its projections, over an input of its own.
class AttentionForm {
 public:
  enum class Kind { kPlain, kFused, kRecomputed };
  AttentionForm(Kind kind, const AttentionSizes& sizes, htone_dtype dtype, const htone::Device& device);

  htone::Tensor forward() const;
  void forward_and_backward() const;

 private:
  htone::Tensor plain_forward() const;

  Kind kind_;
  AttentionSizes sizes_;
  htone::Module attention_;                  // not of the plain form
  htone::Module projections_, output_;       // of the plain form
  htone::Tensor input_, gradient_, hidden_;  // hidden: which scores the causal mask hides
};

}  // namespace halftone::bench
