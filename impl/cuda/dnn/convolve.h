// Convolutions by cuDNN, where it is installed and as exact as ConvArgs demands. Any thread.
#pragma once

#include "backend/kernels/conv.h"
#include "cuda/base/stream.h"
#include "cuda/dnn/handle.h"

namespace halftone::cuda {

struct DnnPlan {
  bool is_used = false;
  DnnProblem problem;
  DnnChoice choice;
};

DnnPlan dnn_plan(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept;

// Queues the convolution. Sets `is_refused` and returns no failure if cuDNN does not support it after all, which may
// happen unless choice.is_proven; nothing but a bias in the result has been written then.
// REQUIRES: plan.is_used; workspace has plan.choice.workspace bytes.
Status convolve_by_dnn(Stream& stream, const ConvArgs& args, const DnnPlan& plan, void* workspace,
                       bool* is_refused) noexcept;

}  // namespace halftone::cuda
