// Convolutions by cuDNN, where it is installed and as exact as ConvArgs demands. Any thread.
#pragma once

#include "backend/kernels/conv.h"
#include "cuda/base/stream.h"
#include "cuda/dnn/handle.h"

namespace halftone::cuda {

struct DnnPlan {
  bool is_used = false;
  DnnProblem problem;
  DnnCopies copies;
  DnnChoice choice;
  size_t workspace = 0;  // bytes, of the copies and then of the algorithm
};

DnnPlan dnn_plan(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept;

// Queues the convolution. Sets `is_refused` and returns no failure if cuDNN does not support it after all, which may
// happen unless choice.is_proven; nothing but the workspace, and a bias in the result, is written then.
// REQUIRES: plan.is_used; workspace has plan.workspace bytes.
Status convolve_by_dnn(Stream& stream, const ConvArgs& args, const DnnPlan& plan, void* workspace,
                       bool* is_refused) noexcept;

}  // namespace halftone::cuda
