// cuBLASLt for one device: its handle, made at the first product, and the algorithms that it has chosen for the
// problems so far. Safe from any thread.
#pragma once

#include <map>
#include <mutex>

#include "cuda/gemm/lt_problem.h"

namespace halftone::cuda {

class LtHandle {
 public:
  explicit LtHandle(int device) noexcept : device_(device) {}
  ~LtHandle();
  LtHandle(const LtHandle&) = delete;
  LtHandle& operator=(const LtHandle&) = delete;

  // The best algorithm for a problem by cuBLASLt's own estimate. Returns false if there is none, or no cuBLASLt.
  bool choose(const LtProblem& problem, LtChoice* out) noexcept;
  // REQUIRES: `choose` returned true before.
  cublasLtHandle_t native() const noexcept { return handle_; }

 private:
  // A search that found nothing is remembered too.
  struct Answer {
    bool is_found;
    LtChoice choice;
  };

  bool open() noexcept;

  const int device_;
  std::mutex mutex_;  // guards the members below
  bool has_tried_ = false;
  cublasLtHandle_t handle_ = nullptr;
  std::map<LtProblem, Answer> chosen_;
};

}  // namespace halftone::cuda
