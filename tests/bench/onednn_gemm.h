// oneDNN's matmul on plain memory formats, as the reference for speed. Its primitive is created once, outside the
// timing.
#pragma once

#include <memory>

#include "backend/kernels/kernels.h"

namespace halftone {

class OnednnGemm {
 public:
  // c = a b without an epilogue. The views' memory must outlive the object.
  explicit OnednnGemm(const GemmArgs& args);
  ~OnednnGemm();

  // False if oneDNN has no implementation for these dtypes.
  bool exists() const { return state_ != nullptr; }
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halftone
