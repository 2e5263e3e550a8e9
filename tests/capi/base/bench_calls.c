/* Measures the cost of C API calls on small tensors. Prints the best of many repeats and asserts nothing. Built with
 * HALFTONE_BENCHMARKS. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "halftone/halftone.h"

enum { kRepeats = 50, kChain = 50, kSide = 64 };

static htone_device* device;
static htone_tensor *matrix, *other, *leaf_matrix, *leaf_scalar;

static void check(htone_status status) {
  if (status == HTONE_OK) return;
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  fprintf(stderr, "%s\n", info.message);
  exit(1);
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The best time per call, where `run` makes `calls` calls. */
static double best_ns(void (*run)(int calls), int calls) {
  double best = 1e18;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double begin = now_ns();
    run(calls);
    const double each = (now_ns() - begin) / calls;
    best = each < best ? each : best;
  }
  return best;
}

/* A call without a handle: the difference to another call is the cost of its handle check. */
static void ask_dtype_size(int calls) {
  size_t bytes = 0;
  for (int i = 0; i < calls; ++i) check(htone_dtype_size(HTONE_F32, &bytes));
}

static void ask_dtype(int calls) {
  htone_dtype dtype = 0;
  for (int i = 0; i < calls; ++i) check(htone_tensor_dtype(matrix, &dtype));
}

static void add(int calls) {
  for (int i = 0; i < calls; ++i) {
    htone_tensor* out = NULL;
    check(htone_add(matrix, other, &out));
    check(htone_tensor_release(out));
  }
}

static void add_recorded(int calls) {
  for (int i = 0; i < calls; ++i) {
    htone_tensor* out = NULL;
    check(htone_add(leaf_matrix, other, &out));
    check(htone_tensor_release(out));
  }
}

static void multiply_matrices(int calls) {
  for (int i = 0; i < calls; ++i) {
    htone_tensor* out = NULL;
    check(htone_matmul(matrix, other, &out));
    check(htone_tensor_release(out));
  }
}

/* `matrix` is all ones, so every product stays a normal number. */
static htone_tensor* forward_chain(void) {
  htone_tensor* out = NULL;
  check(htone_mul(leaf_matrix, matrix, &out));
  for (int i = 1; i < kChain; ++i) {
    htone_tensor* next = NULL;
    check(htone_mul(out, matrix, &next));
    check(htone_tensor_release(out));
    out = next;
  }
  return out;
}

static void chain(int calls) {
  for (int i = 0; i < calls; ++i) {
    htone_tensor* out = forward_chain();
    check(htone_tensor_backward(out, matrix, 0));
    check(htone_tensor_release(out));
    check(htone_tensor_zero_grad(leaf_matrix));
  }
}

static void record_one_scalar(int calls) {
  for (int i = 0; i < calls; ++i) {
    htone_tensor* out = NULL;
    check(htone_add(leaf_scalar, leaf_scalar, &out));
    check(htone_tensor_release(out));
  }
}

static void backward_one_scalar(int calls) {
  for (int i = 0; i < calls; ++i) {
    htone_tensor* out = NULL;
    check(htone_add(leaf_scalar, leaf_scalar, &out));
    check(htone_tensor_backward(out, NULL, 0));
    check(htone_tensor_release(out));
  }
}

static htone_tensor* make_ones(int32_t ndim, int32_t requires_grad) {
  const int64_t shape[] = {kSide, kSide};
  htone_tensor* tensor = NULL;
  check(htone_tensor_create_full(device, HTONE_F32, ndim, shape, 1, &tensor));
  check(htone_tensor_set_requires_grad(tensor, requires_grad));
  return tensor;
}

static void print_all(void) {
  const double bare = best_ns(ask_dtype_size, 100000);
  const double dtype = best_ns(ask_dtype, 100000);
  const double recorded = best_ns(record_one_scalar, 10000);
  const double backward = best_ns(backward_one_scalar, 10000);
  printf("%-52s %9.1f ns\n", "call without a handle (htone_dtype_size)", bare);
  printf("%-52s %9.1f ns\n", "htone_tensor_dtype", dtype);
  printf("%-52s %9.1f ns\n", "check of a handle (their difference)", dtype - bare);
  printf("%-52s %9.1f ns\n", "add 64x64 f32, forward and release", best_ns(add, 10000));
  printf("%-52s %9.1f ns\n", "add 64x64 f32, recorded and released", best_ns(add_recorded, 10000));
  printf("%-52s %9.1f ns\n", "chain of 50 mul 64x64, forward and backward, per op", best_ns(chain, 100) / kChain);
  printf("%-52s %9.1f ns\n", "fixed cost of one backward", backward - recorded);
  printf("%-52s %9.1f ns\n", "matmul 64x64x64 f32, forward and release", best_ns(multiply_matrices, 1000));
}

int main(void) {
  htone_context* context = NULL;
  htone_context_options options;
  check(htone_context_options_init(&options));
  options.num_threads = 1;
  check(htone_context_create(&options, &context));
  check(htone_device_create(context, "cpu", &device));
  matrix = make_ones(2, 0);
  other = make_ones(2, 0);
  leaf_matrix = make_ones(2, 1);
  leaf_scalar = make_ones(0, 1);
  print_all();
  htone_tensor* const tensors[] = {matrix, other, leaf_matrix, leaf_scalar};
  for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; ++i) check(htone_tensor_release(tensors[i]));
  check(htone_device_release(device));
  check(htone_context_release(context));
  return 0;
}
