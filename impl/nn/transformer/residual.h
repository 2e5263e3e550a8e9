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
  // The stream itself.
  const Tensor& sum();

 private:
  bool is_fusable(const RowNormModule& norm) const;

  Tensor x_;
  Tensor branch_;  // not yet added; undefined where there is none
};

}  // namespace halftone::nn
