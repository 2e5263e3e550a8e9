// One pass of the backend's convolution with its scratch memory. Images are [n, c, l] or [n, c, h, w].
#pragma once

#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

// The operation's name, and the window and groups of its convolution (for a transpose, of the convolution it
// transposes).
struct ConvCall {
  const char* operation = "";
  ConvWindow window = {};
  int64_t groups = 1;
};

// `input`, `weight` and `output` are those of the convolution, whichever of them the pass writes.
void run_conv(const ConvCall& call, ConvPass pass, ContextDevice& device, ConvArgs args);

}  // namespace halftone
