// Operations that write into their first operand and record nothing. capi/include/halftone/in_place.h and copy.h
// document them; included by ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

void copy_from(const Tensor& target, const Tensor& source);

void add_in_place(const Tensor& target, const Tensor& other);
void sub_in_place(const Tensor& target, const Tensor& other);
void mul_in_place(const Tensor& target, const Tensor& other);
void div_in_place(const Tensor& target, const Tensor& other);

}  // namespace halftone::ops
