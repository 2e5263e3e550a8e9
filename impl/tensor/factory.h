// Makes tensors, and copies elements between host memory and tensors. Nothing here records for backward.
#pragma once

#include <cstddef>

#include "core/philox.h"
#include "tensor/tensor.h"

namespace halftone {

// A contiguous tensor of unspecified content. Throws OUT_OF_MEMORY.
Tensor empty(ContextDevice& device, DType dtype, const Shape& shape, Category category = Category::kOther);
// Likewise, without memory until its storage is refilled.
Tensor empty_without_memory(ContextDevice& device, DType dtype, const Shape& shape,
                            Category category = Category::kOther);
inline Tensor empty_like(const Tensor& tensor) { return empty(tensor.device(), tensor.dtype(), tensor.shape()); }
Tensor full(ContextDevice& device, DType dtype, const Shape& shape, double value, Category category = Category::kOther);
// `data` are row-major elements in host memory.
Tensor from_host(ContextDevice& device, DType dtype, const Shape& shape, const void* data,
                 Category category = Category::kOther);
// A row-major tensor over the caller's memory. Storage::set_deleter registers a call for when it is no longer in use.
Tensor from_buffer(ContextDevice& device, DType dtype, const Shape& shape, void* data);
// A tensor over the caller's memory with strides that passed checked_strides. It is read-only if elements may share
// memory, since threads would write the shared elements at the same time.
Tensor from_buffer(ContextDevice& device, DType dtype, const Shape& shape, const Shape& strides, void* data);

// The numbers from 0 to n - 1 in a random order that the key determines; i64.
Tensor permutation(ContextDevice& device, int64_t n, PhiloxKey key);

// The elements in row-major order without gaps; returns the tensor itself if it is contiguous.
Tensor contiguous(const Tensor& tensor);
// A contiguous copy in another dtype.
Tensor converted(const Tensor& tensor, DType dtype, Category category = Category::kOther);

// A contiguous copy in memory of another device; returns the tensor itself if it is on that device.
Tensor moved_to(ContextDevice& device, const Tensor& tensor);

// In-place writes. Each increments the storage's version.
void fill(const Tensor& tensor, double value);
// target = source, converted; equal shapes.
void copy(const Tensor& source, const Tensor& target);
// As copy, but counts as no write: the target gets the values that it had before its memory was released.
void bring_back(const Tensor& source, const Tensor& target);
void fill_uniform(const Tensor& tensor, PhiloxKey key, double low, double high);
void fill_normal(const Tensor& tensor, PhiloxKey key, double mean, double std);
// 1 with probability p, else 0.
void fill_bernoulli(const Tensor& tensor, PhiloxKey key, double p);

// Copy row-major elements of `dtype` between host memory and a tensor. Only the read waits for the device; the caller
// may reuse the memory that was written from as soon as the call returns.
void read_to_host(const Tensor& tensor, DType dtype, void* host);
void write_from_host(const Tensor& tensor, DType dtype, const void* host);

// The value of a tensor with one element.
double item(const Tensor& tensor);

}  // namespace halftone
