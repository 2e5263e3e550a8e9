// oneDNN's matmul on plain memory formats, as the oracle of speed. Its primitive is made once, outside the timing.
#pragma once

#include <memory>

#include "backend/kernels.h"

namespace halftone {

class OnednnGemm {
 public:
  // c = a b without an epilogue. The views' memory stays alive as long as the object.
  explicit OnednnGemm(const GemmArgs& args);
  ~OnednnGemm();

  // False where oneDNN has no implementation for these dtypes.
  bool exists() const { return state_ != nullptr; }
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halftone
