// The descriptors of one call of cuDNN, which are freed at its end. One thread.
#pragma once

#include "cuda/dnn/problem.h"

namespace halftone::cuda {

class DnnCall {
 public:
  DnnCall(const DnnFunctions& dnn, const DnnProblem& problem) noexcept;
  ~DnnCall();
  DnnCall(const DnnCall&) = delete;
  DnnCall& operator=(const DnnCall&) = delete;

  bool is_complete() const noexcept { return is_complete_; }
  DnnTensor* input() const noexcept { return input_; }
  DnnFilter* weight() const noexcept { return weight_; }
  DnnTensor* output() const noexcept { return output_; }
  DnnConvolution* convolution() const noexcept { return convolution_; }
  // Null, except in the forward pass with a bias.
  DnnTensor* bias() const noexcept { return bias_; }
  DnnActivation* identity() const noexcept { return identity_; }

  // Algorithms of the problem's pass. Returns their count; 0 for a failure, too.
  int find(DnnContext* context, DnnFound* found, int most) const noexcept;
  bool find_workspace(DnnContext* context, DnnAlgorithm algorithm, size_t* bytes) const noexcept;
  bool set_math(DnnMath math) const noexcept;

 private:
  bool describe_tensor(const int32_t (&sizes)[4], DnnTensor** out) noexcept;
  bool describe_weight() noexcept;
  bool describe_window() noexcept;
  bool describe_bias() noexcept;

  const DnnFunctions& dnn_;
  const DnnProblem problem_;
  DnnTensor* input_ = nullptr;
  DnnFilter* weight_ = nullptr;
  DnnTensor* output_ = nullptr;
  DnnConvolution* convolution_ = nullptr;
  DnnTensor* bias_ = nullptr;
  DnnActivation* identity_ = nullptr;
  bool is_complete_ = false;
};

}  // namespace halftone::cuda
