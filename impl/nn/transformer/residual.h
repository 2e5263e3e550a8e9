// The residual stream of a transformer: parts add to it, and norms read it. A sum is made by the norm that reads it, in
// one pass, where nothing depends on either alone. Used by one forward on one thread.
#pragma once

#include "nn/norms.h"

namespace halftone::nn {

class Residual {
 public:
  explicit Residual(Tensor x) : x_(std::move(x)) {}

  // Adds a part's result.
  void add(Tensor branch);
  // The norm of the stream, computed as the module `norm`.
  Tensor normalized(const RowNormModule& norm);
  // As above for `reader`, which alone reads the norm, by one linear layer: under autocast the norm is stored in the
  // layer's dtype, so that no cast is needed. With two layers, their gradients would be added in that dtype.
  Tensor normalized_for(const Module& reader, const RowNormModule& norm);
  // The stream itself.
  const Tensor& sum();

 private:
  Tensor normalized_as(std::optional<DType> result, const RowNormModule& norm);
  bool is_fusable(const RowNormModule& norm) const;

  Tensor x_;
  Tensor branch_;  // not yet added; undefined where there is none
};

}  // namespace halftone::nn
