/* Tensors for tests: made from a list of numbers, computed by one call, compared with a list of numbers. All tensors
 * that these functions return are kept until the test ends. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_TEST_TENSORS_H
#define HALFTONE_TESTS_CAPI_TEST_TENSORS_H

#include "run_tests.h"

/* The sizes follow ndim, each as an int. */
htone_tensor* make_tensor(htone_dtype dtype, const double* values, int ndim, ...);
/* 0, 1, 2, ... in row-major order. */
htone_tensor* make_ramp(htone_dtype dtype, int ndim, ...);
/* Numbers in (-1, 1) without a visible pattern; equal seeds give equal numbers. None is closer to 0 than 0.01. */
htone_tensor* make_noise(htone_dtype dtype, uint32_t seed, int ndim, ...);
htone_tensor* make_scalar(htone_dtype dtype, double value);

/* The sizes are in an array, for tests that do not know their number in advance. */
htone_tensor* make_noise_of_shape(htone_dtype dtype, uint32_t seed, int ndim, const int64_t* shape);

typedef htone_status (*UnaryFn)(htone_tensor*, htone_tensor**);
typedef htone_status (*BinaryFn)(htone_tensor*, htone_tensor*, htone_tensor**);

htone_tensor* apply1(UnaryFn function, htone_tensor* input);
htone_tensor* apply2(BinaryFn function, htone_tensor* a, htone_tensor* b);

htone_tensor* sum_of(htone_tensor* input);
htone_tensor* transpose_of(htone_tensor* input, int64_t dim0, int64_t dim1);
htone_tensor* slice_of(htone_tensor* input, int64_t dim, int64_t start, int64_t end, int64_t step);
htone_tensor* cast_of(htone_tensor* input, htone_dtype dtype);
htone_tensor* leaf(htone_tensor* tensor);
htone_tensor* grad_of(htone_tensor* tensor);
void backward(htone_tensor* tensor);

htone_dtype dtype_of(htone_tensor* tensor);
int64_t numel_of(htone_tensor* tensor);
double item_of(htone_tensor* tensor);
int requires_grad(htone_tensor* tensor);
int share_storage(htone_tensor* a, htone_tensor* b);
/* The elements as doubles in row-major order; the caller frees them. */
double* values_of(htone_tensor* tensor);

/* Macros, so that a failure shows the caller's file and line, and lists need no length. NaN equals NaN. */
#define assert_values(tensor, tolerance, ...)                                                                   \
  check_values((tensor), (tolerance), (const double[]){__VA_ARGS__}, COUNT_OF(((const double[]){__VA_ARGS__})), \
               __FILE__, __LINE__)
#define assert_shape(tensor, ...)                                                                                  \
  check_shape((tensor), (const int64_t[]){__VA_ARGS__}, (int)COUNT_OF(((const int64_t[]){__VA_ARGS__})), __FILE__, \
              __LINE__)
#define assert_scalar(tensor) check_shape((tensor), NULL, 0, __FILE__, __LINE__)
/* Two tensors with equal elements, of any shapes and dtypes. */
#define assert_tensors_near(actual, expected, tolerance) \
  check_tensors_near((actual), (expected), (tolerance), __FILE__, __LINE__)
#define assert_near(actual, expected, tolerance) check_near((actual), (expected), (tolerance), __FILE__, __LINE__)

/* A call that would write its result to `out`. */
#define assert_refuses(call, code, part)            \
  do {                                              \
    htone_tensor* out = NULL;                       \
    assert_fails((call), HTONE_ERROR_##code, part); \
    assert_null(out);                               \
  } while (0)

void check_values(htone_tensor* tensor, double tolerance, const double* expected, size_t count, const char* file,
                  int line);
void check_tensors_near(htone_tensor* actual, htone_tensor* expected, double tolerance, const char* file, int line);
void check_shape(htone_tensor* tensor, const int64_t* expected, int ndim, const char* file, int line);
void check_near(double actual, double expected, double tolerance, const char* file, int line);

#endif
