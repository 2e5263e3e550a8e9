// Functions that the caller differentiates: the caller computes the results by any code and supplies their backward.
// One function may be recorded any number of times; its backward runs on the thread that runs backward, with recording
// and autocast off.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace halftone {

class CustomFunction : public RefCounted {
 public:
  struct BackwardCall {
    std::vector<Tensor> saved;
    std::vector<Tensor> grad_outputs;  // undefined where zero
    std::vector<int32_t> needs_grad;   // by input
    std::vector<Tensor> grad_inputs;   // to be set; undefined is zero
  };

  // `name` is for messages.
  explicit CustomFunction(std::string name) : name_(std::move(name)) {}
  const char* name() const noexcept { return name_.c_str(); }

  virtual void backward(BackwardCall& call) = 0;

 private:
  std::string name_;
};

// One application of a function.
struct CustomApplication {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> saved;  // for backward, which is STATE where they were written since
};

// Returns the outputs again, over the same memory, as results of the function; as constants where the thread does not
// record or no input requires a gradient. Outputs of a dtype that has no gradient are always constants. Throws STATE
// inside backward.
std::vector<Tensor> record_custom(const Ref<CustomFunction>& function, const CustomApplication& application);

}  // namespace halftone
