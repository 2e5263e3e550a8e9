// One pass of the backend's convolution with its scratch memory. Images are [n, c, l] or [n, c, h, w].
#pragma once

#include "backend/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// A convolution that an operation is, or is the transpose of: its window and groups, and the operation's name.
struct ConvCall {
  const char* operation = "";
  ConvWindow window = {};
  int64_t groups = 1;
};

// `input`, `weight` and `output` are the convolution's, whatever the pass writes.
void run_conv(const ConvCall& call, ConvPass pass, ContextDevice& device, ConvArgs args);

}  // namespace halftone
