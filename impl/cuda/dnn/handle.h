// cuDNN for one device: its handle, made at the first convolution, and the algorithms chosen for the problems so far.
// Safe from any thread.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <mutex>

#include "cuda/dnn/problem.h"

namespace halftone::cuda {

struct DnnChoice {
  DnnAlgorithm algorithm{};
  DnnMath math{};
  size_t workspace = 0;
  bool is_proven = false;  // a call of this problem has succeeded
};

// The memory of a problem.
struct DnnPointers {
  void* input = nullptr;
  void* weight = nullptr;
  void* output = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;
};

class DnnHandle {
 public:
  explicit DnnHandle(int device) noexcept : device_(device) {}
  ~DnnHandle();
  DnnHandle(const DnnHandle&) = delete;
  DnnHandle& operator=(const DnnHandle&) = delete;

  // The quickest exact algorithm by cuDNN's own estimate. Returns false if there is none, or no cuDNN; for one problem
  // always the same, except after a call that cuDNN refused.
  bool choose(const DnnProblem& problem, DnnChoice* out) noexcept;

  // Queues one convolution. NOT_SUPPORTED of a problem that is not proven refuses it for ever.
  // REQUIRES: `choose` returned true and `choice`; pointers.workspace has choice.workspace bytes.
  DnnStatus run(const DnnProblem& problem, const DnnChoice& choice, const DnnPointers& pointers,
                cudaStream_t stream) noexcept;
  // Bytes of scratch that one convolution may use. REQUIRES: `choose` returned true before.
  size_t most_workspace() const noexcept { return most_workspace_; }
  // The text of a status. REQUIRES: as run.
  const char* text_of(DnnStatus status) const noexcept { return functions_.get_error_string(status); }

 private:
  // No choice where cuDNN has none.
  struct Entry {
    bool is_possible = false;
    DnnChoice choice;
  };
  bool open() noexcept;
  Entry* entry_of(const DnnProblem& problem) noexcept;
  void note(const DnnProblem& problem, DnnStatus status) noexcept;

  const int device_;
  std::mutex mutex_;  // guards the members below; cuDNN takes one call of a handle at a time
  bool has_tried_ = false;
  DnnFunctions functions_ = {};
  DnnContext* context_ = nullptr;
  size_t most_workspace_ = 0;
  std::map<DnnProblem, Entry> chosen_;
  bool is_full_ = false;  // there was no memory for one more
};

}  // namespace halftone::cuda
