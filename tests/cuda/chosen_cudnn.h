// Names the file that CUDA devices open as cuDNN, until the end of a block. A device looks for it at its first
// convolution. Used from one thread.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace halftone {

class ChosenCudnn {
 public:
  // An empty name: none.
  explicit ChosenCudnn(const char* name) {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    setenv(kVariable, name, 1);
  }
  ~ChosenCudnn() {
    if (before_.has_value()) {
      setenv(kVariable, before_->c_str(), 1);
    } else {
      unsetenv(kVariable);
    }
  }
  ChosenCudnn(const ChosenCudnn&) = delete;
  ChosenCudnn& operator=(const ChosenCudnn&) = delete;

 private:
  static constexpr const char* kVariable = "HALFTONE_CUDNN_LIBRARY";
  std::optional<std::string> before_;
};

}  // namespace halftone
