// A tensor as text, laid out as PyTorch prints it.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace halftone {

// "tensor([[1., 2.], [3., 4.]], f32)", a line for each row, lines of 80 columns. Beyond 1,000 elements each dimension
// shows its first three and last three. Waits for the device.
std::string format(const Tensor& tensor);

}  // namespace halftone
