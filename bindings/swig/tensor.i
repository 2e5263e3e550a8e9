/* Tensors: create, fill, add, read, release, and their properties. */

%{
#include "halftone/ops.h"
#include "halftone/tensor.h"

typedef htone_tensor Tensor;
%}

struct Tensor {};

%newobject Tensor::add;

%extend Tensor {
  Tensor(Device* device, Dtype dtype, const int64_t* shape, int32_t ndim) {
    htone_tensor* tensor = nullptr;
    check(htone_tensor_create(device, htone_dtype(dtype), ndim, shape, &tensor));
    return tensor;
  }

  /* The proxy owns exactly one reference, so the release cannot fail. */
  ~Tensor() { htone_tensor_release($self); }

  void fill(double value) { check(htone_tensor_fill($self, value)); }

  Tensor* add(Tensor* other) {
    htone_tensor* sum = nullptr;
    check(htone_add($self, other, &sum));
    return sum;
  }

  /* Reads all elements as FP32 into the caller's array of `count` floats. */
  void read(float* values, int64_t count) {
    check(htone_tensor_read($self, HTONE_F32, values, size_t(count) * sizeof(float)));
  }

  int64_t numel() {
    int64_t count = 0;
    check(htone_tensor_numel($self, &count));
    return count;
  }

  Dtype dtype() {
    htone_dtype dtype = HTONE_F32;
    check(htone_tensor_dtype($self, &dtype));
    return Dtype(dtype);
  }

  /* Writes the sizes to HTONE_MAX_NDIM entries and returns their number; each language makes an array of them. */
  int32_t shape(int64_t* sizes) {
    int32_t ndim = 0;
    check(htone_tensor_shape($self, sizes, HTONE_MAX_NDIM, &ndim));
    return ndim;
  }
}
