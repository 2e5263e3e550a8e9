// Making tensors, and moving elements between host and tensors. Nothing here records for backward.
#pragma once

#include <cstddef>

#include "core/philox.h"
#include "tensor/tensor.h"

namespace halftone {

// Contiguous, of unspecified content. Throws OUT_OF_MEMORY.
Tensor empty(ContextDevice& device, DType dtype, const Shape& shape, Category category = Category::kActivations);
inline Tensor empty_like(const Tensor& tensor) { return empty(tensor.device(), tensor.dtype(), tensor.shape()); }
Tensor full(ContextDevice& device, DType dtype, const Shape& shape, double value,
            Category category = Category::kActivations);
// `data` are row-major elements on the host.
Tensor from_host(ContextDevice& device, DType dtype, const Shape& shape, const void* data,
                 Category category = Category::kActivations);
// Over the caller's memory, row-major; Storage::set_deleter tells the caller when it is free again.
Tensor from_buffer(ContextDevice& device, DType dtype, const Shape& shape, void* data);
// The same with strides, which passed checked_strides; read-only where elements may share memory, since writers run
// side by side.
Tensor from_buffer(ContextDevice& device, DType dtype, const Shape& shape, const Shape& strides, void* data);

// The numbers from 0 to n - 1 in an order drawn from the key; i64.
Tensor permutation(ContextDevice& device, int64_t n, PhiloxKey key);

// Elements in row-major order, without gaps: the tensor itself where it is so already.
Tensor contiguous(const Tensor& tensor);
// A contiguous copy in another dtype.
Tensor converted(const Tensor& tensor, DType dtype, Category category = Category::kActivations);

// The same elements in memory of another device, contiguous; the tensor itself where it is there already.
Tensor moved_to(ContextDevice& device, const Tensor& tensor);

// In-place writes; each bumps the storage's version.
void fill(const Tensor& tensor, double value);
// target = source, converted; equal shapes.
void copy(const Tensor& source, const Tensor& target);
void fill_uniform(const Tensor& tensor, PhiloxKey key, double low, double high);
void fill_normal(const Tensor& tensor, PhiloxKey key, double mean, double std);
// 1 with probability p, else 0.
void fill_bernoulli(const Tensor& tensor, PhiloxKey key, double p);

// Row-major elements of `dtype` between host memory and a tensor; both wait for the device.
void read_to_host(const Tensor& tensor, DType dtype, void* host);
void write_from_host(const Tensor& tensor, DType dtype, const void* host);

// The value of a tensor with one element.
double item(const Tensor& tensor);

}  // namespace halftone
