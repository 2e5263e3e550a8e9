#include "test_tensors.h"

#include <math.h>
#include <stdlib.h>

static int64_t read_shape(int64_t* shape, int ndim, va_list sizes) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) {
    shape[i] = va_arg(sizes, int);
    count *= shape[i];
  }
  return count;
}

static htone_tensor* make_written(htone_dtype dtype, const double* values, int ndim, const int64_t* shape) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create(test_device(), dtype, ndim, shape, &tensor));
  keep_tensor(tensor);
  assert_ok(htone_tensor_write(tensor, HTONE_F64, values, (size_t)numel_of(tensor) * sizeof *values));
  return tensor;
}

htone_tensor* make_tensor(htone_dtype dtype, const double* values, int ndim, ...) {
  int64_t shape[HTONE_MAX_NDIM];
  va_list sizes;
  va_start(sizes, ndim);
  read_shape(shape, ndim, sizes);
  va_end(sizes);
  return make_written(dtype, values, ndim, shape);
}

htone_tensor* make_scalar(htone_dtype dtype, double value) { return make_tensor(dtype, &value, 0); }

htone_tensor* make_ramp(htone_dtype dtype, int ndim, ...) {
  int64_t shape[HTONE_MAX_NDIM];
  va_list sizes;
  va_start(sizes, ndim);
  const int64_t count = read_shape(shape, ndim, sizes);
  va_end(sizes);
  double* values = malloc((size_t)(count + 1) * sizeof *values);
  for (int64_t i = 0; i <= count; ++i) values[i] = (double)i;
  htone_tensor* tensor = make_written(dtype, values, ndim, shape);
  free(values);
  return tensor;
}

static double next_noise(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  const double magnitude = 0.01 + 0.99 * (double)(*state >> 9) / (double)(1u << 23);
  return (*state & 0x100) != 0 ? magnitude : -magnitude;
}

htone_tensor* make_noise_of_shape(htone_dtype dtype, uint32_t seed, int ndim, const int64_t* shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= shape[i];
  double* values = malloc((size_t)(count + 1) * sizeof *values);
  uint32_t state = seed * 2654435761u + 12345u;
  for (int64_t i = 0; i <= count; ++i) values[i] = next_noise(&state);
  htone_tensor* tensor = make_written(dtype, values, ndim, shape);
  free(values);
  return tensor;
}

htone_tensor* make_noise(htone_dtype dtype, uint32_t seed, int ndim, ...) {
  int64_t shape[HTONE_MAX_NDIM];
  va_list sizes;
  va_start(sizes, ndim);
  read_shape(shape, ndim, sizes);
  va_end(sizes);
  return make_noise_of_shape(dtype, seed, ndim, shape);
}

htone_tensor* apply1(UnaryFn function, htone_tensor* input) {
  htone_tensor* out = NULL;
  assert_ok(function(input, &out));
  return keep_tensor(out);
}

htone_tensor* apply2(BinaryFn function, htone_tensor* a, htone_tensor* b) {
  htone_tensor* out = NULL;
  assert_ok(function(a, b, &out));
  return keep_tensor(out);
}

htone_tensor* sum_of(htone_tensor* input) {
  htone_tensor* out = NULL;
  assert_ok(htone_sum(input, 0, NULL, 0, &out));
  return keep_tensor(out);
}

htone_tensor* transpose_of(htone_tensor* input, int64_t dim0, int64_t dim1) {
  htone_tensor* out = NULL;
  assert_ok(htone_transpose(input, dim0, dim1, &out));
  return keep_tensor(out);
}

htone_tensor* slice_of(htone_tensor* input, int64_t dim, int64_t start, int64_t end, int64_t step) {
  htone_tensor* out = NULL;
  assert_ok(htone_slice(input, dim, start, end, step, &out));
  return keep_tensor(out);
}

htone_tensor* cast_of(htone_tensor* input, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_cast(input, dtype, &out));
  return keep_tensor(out);
}

htone_tensor* leaf(htone_tensor* tensor) {
  assert_ok(htone_tensor_set_requires_grad(tensor, 1));
  return tensor;
}

htone_tensor* grad_of(htone_tensor* tensor) {
  htone_tensor* out = NULL;
  assert_ok(htone_tensor_grad(tensor, &out));
  return keep_tensor(out);
}

void backward(htone_tensor* tensor) { assert_ok(htone_tensor_backward(tensor, NULL, 0)); }

htone_dtype dtype_of(htone_tensor* tensor) {
  htone_dtype dtype = 0;
  assert_ok(htone_tensor_dtype(tensor, &dtype));
  return dtype;
}

int64_t numel_of(htone_tensor* tensor) {
  int64_t count = -1;
  assert_ok(htone_tensor_numel(tensor, &count));
  return count;
}

double item_of(htone_tensor* tensor) {
  double value = 0;
  assert_ok(htone_tensor_item(tensor, &value));
  return value;
}

int requires_grad(htone_tensor* tensor) {
  int32_t answer = -1;
  assert_ok(htone_tensor_requires_grad(tensor, &answer));
  return answer;
}

int share_storage(htone_tensor* a, htone_tensor* b) {
  void *address_a = NULL, *address_b = NULL;
  assert_ok(htone_tensor_data(a, &address_a));
  assert_ok(htone_tensor_data(b, &address_b));
  return address_a == address_b;
}

double* values_of(htone_tensor* tensor) {
  const size_t count = (size_t)numel_of(tensor);
  double* values = malloc((count + 1) * sizeof *values);
  assert_non_null(values);
  assert_ok(htone_tensor_read(tensor, HTONE_F64, values, count * sizeof *values));
  return values;
}

static int near(double actual, double expected, double tolerance) {
  if (isnan(expected)) return isnan(actual);
  if (isinf(expected)) return actual == expected;
  return fabs(actual - expected) <= tolerance;
}

void check_near(double actual, double expected, double tolerance, const char* file, int line) {
  if (near(actual, expected, tolerance)) return;
  print_error("%.17g is not within %g of %.17g\n", actual, tolerance, expected);
  _fail(file, line);
}

void check_values(htone_tensor* tensor, double tolerance, const double* expected, size_t count, const char* file,
                  int line) {
  if (numel_of(tensor) != (int64_t)count) {
    print_error("%lld elements, expected %zu\n", (long long)numel_of(tensor), count);
    _fail(file, line);
  }
  double* actual = values_of(tensor);
  size_t wrong = 0;
  while (wrong < count && near(actual[wrong], expected[wrong], tolerance)) ++wrong;
  const double value = actual[wrong < count ? wrong : 0];
  free(actual);
  if (wrong == count) return;
  print_error("element %zu is %.17g, not within %g of %.17g\n", wrong, value, tolerance, expected[wrong]);
  _fail(file, line);
}

void check_tensors_near(htone_tensor* actual, htone_tensor* expected, double tolerance, const char* file, int line) {
  double* values = values_of(expected);
  check_values(actual, tolerance, values, (size_t)numel_of(expected), file, line);
  free(values);
}

void check_shape(htone_tensor* tensor, const int64_t* expected, int ndim, const char* file, int line) {
  int64_t shape[HTONE_MAX_NDIM];
  int32_t actual = -1;
  assert_ok(htone_tensor_shape(tensor, shape, HTONE_MAX_NDIM, &actual));
  int wrong = 0;
  while (actual == ndim && wrong < ndim && shape[wrong] == expected[wrong]) ++wrong;
  if (actual == ndim && wrong == ndim) return;
  if (actual != ndim) {
    print_error("%d dimensions, expected %d\n", (int)actual, ndim);
  } else {
    print_error("size %d is %lld, expected %lld\n", wrong, (long long)shape[wrong], (long long)expected[wrong]);
  }
  _fail(file, line);
}
