/* Loops of calls in C, which calls.py runs in its own process beside loops in Python. Each returns the nanoseconds of a
 * call on this thread's clock, which other programs do not advance. */
#define _POSIX_C_SOURCE 199309L
#include <halftone/halftone.h>
#include <stdlib.h>
#include <time.h>

static htone_tensor *a, *b;

static void check(htone_status status) {
  if (status != HTONE_OK) abort();
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void make_tensors(int64_t size) {
  const int64_t shape[] = {size, size};
  htone_context* context;
  htone_device* device;
  check(htone_context_default(&context));
  check(htone_device_create(context, "cpu", &device));
  check(htone_tensor_create_zeros(device, HTONE_F32, 2, shape, &a));
  check(htone_tensor_create_zeros(device, HTONE_F32, 2, shape, &b));
}

double add(int calls) {
  htone_tensor* sum;
  const double begin = now();
  for (int call = 0; call < calls; ++call) {
    check(htone_add(a, b, &sum));
    check(htone_tensor_release(sum));
  }
  return (now() - begin) / calls;
}

double add_scalar(int calls) {
  htone_tensor* sum;
  const double begin = now();
  for (int call = 0; call < calls; ++call) {
    check(htone_add_scalar(a, 1.5, &sum));
    check(htone_tensor_release(sum));
  }
  return (now() - begin) / calls;
}

double dtype(int calls) {
  htone_dtype found;
  const double begin = now();
  for (int call = 0; call < calls; ++call) check(htone_tensor_dtype(a, &found));
  return (now() - begin) / calls;
}

double shape(int calls) {
  int64_t sizes[HTONE_MAX_NDIM];
  int32_t ndim;
  const double begin = now();
  for (int call = 0; call < calls; ++call) check(htone_tensor_shape(a, sizes, HTONE_MAX_NDIM, &ndim));
  return (now() - begin) / calls;
}
