#include "cuda/dnn/call.h"

namespace halftone::cuda {
namespace {

bool is_done(DnnStatus status) { return status == DnnStatus::kSuccess; }

}  // namespace

DnnCall::DnnCall(const DnnFunctions& dnn, const DnnProblem& problem) noexcept : dnn_(dnn), problem_(problem) {
  is_complete_ = describe_tensor(problem.input, &input_) && describe_tensor(problem.output, &output_) &&
                 describe_weight() && describe_window() && describe_bias();
}

DnnCall::~DnnCall() {
  for (DnnTensor* tensor : {input_, output_, bias_}) {
    if (tensor != nullptr) dnn_.destroy_tensor(tensor);
  }
  if (weight_ != nullptr) dnn_.destroy_filter(weight_);
  if (convolution_ != nullptr) dnn_.destroy_convolution(convolution_);
  if (identity_ != nullptr) dnn_.destroy_activation(identity_);
}

bool DnnCall::describe_tensor(const int32_t (&sizes)[4], DnnTensor** out) noexcept {
  return is_done(dnn_.create_tensor(out)) && is_done(dnn_.set_tensor(*out, DnnFormat::kChannelsFirst, problem_.type,
                                                                     sizes[0], sizes[1], sizes[2], sizes[3]));
}

bool DnnCall::describe_weight() noexcept {
  const int32_t(&sizes)[4] = problem_.weight;
  return is_done(dnn_.create_filter(&weight_)) &&
         is_done(dnn_.set_filter(weight_, problem_.type, DnnFormat::kChannelsFirst, sizes[0], sizes[1], sizes[2],
                                 sizes[3]));
}

// Sums are FP32 for every dtype.
bool DnnCall::describe_window() noexcept {
  const DnnProblem& of = problem_;
  return is_done(dnn_.create_convolution(&convolution_)) &&
         is_done(dnn_.set_convolution(convolution_, of.padding[0], of.padding[1], of.stride[0], of.stride[1],
                                      of.dilation[0], of.dilation[1], DnnMode::kCrossCorrelation, DnnType::kFloat)) &&
         is_done(dnn_.set_groups(convolution_, of.groups)) && set_math(of.math);
}

bool DnnCall::describe_bias() noexcept {
  if (!problem_.has_bias || problem_.pass != ConvPass::kForward) return true;
  const int32_t sizes[4] = {1, problem_.output[1], 1, 1};
  return describe_tensor(sizes, &bias_) && is_done(dnn_.create_activation(&identity_)) &&
         is_done(dnn_.set_activation(identity_, DnnActivationMode::kIdentity, DnnNan::kPropagate, 0));
}

int DnnCall::find(DnnContext* context, DnnFound* found, int most) const noexcept {
  int count = 0;
  DnnStatus status = DnnStatus::kSuccess;
  switch (problem_.pass) {
    case ConvPass::kForward:
      status = dnn_.find_forward(context, input_, weight_, convolution_, output_, most, &count, found);
      break;
    case ConvPass::kGradInput:
      status = dnn_.find_grad_input(context, weight_, output_, convolution_, input_, most, &count, found);
      break;
    case ConvPass::kGradWeight:
      status = dnn_.find_grad_weight(context, input_, output_, convolution_, weight_, most, &count, found);
      break;
  }
  return is_done(status) ? count : 0;
}

bool DnnCall::find_workspace(DnnContext* context, DnnAlgorithm algorithm, size_t* bytes) const noexcept {
  switch (problem_.pass) {
    case ConvPass::kForward:
      return is_done(dnn_.size_forward(context, input_, weight_, convolution_, output_, algorithm, bytes));
    case ConvPass::kGradInput:
      return is_done(dnn_.size_grad_input(context, weight_, output_, convolution_, input_, algorithm, bytes));
    case ConvPass::kGradWeight:
      return is_done(dnn_.size_grad_weight(context, input_, output_, convolution_, weight_, algorithm, bytes));
  }
  return false;
}

bool DnnCall::set_math(DnnMath math) const noexcept { return is_done(dnn_.set_math(convolution_, math)); }

}  // namespace halftone::cuda
