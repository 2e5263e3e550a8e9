/* Nanoseconds of an addition of two tensors of 64x64 and of the release of its result, and of a scope of no_grad with
 * nothing inside: the least mean of a round. */
#include <halftone/halftone.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 400, kCalls = 2000 };

static void check(htone_status status) {
  if (status != HTONE_OK) abort();
}

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static htone_tensor *a, *b;

static void add(void) {
  htone_tensor* sum;
  check(htone_add(a, b, &sum));
  check(htone_tensor_release(sum));
}

static void no_grad(void) {
  htone_scope* scope;
  check(htone_no_grad_begin(&scope));
  check(htone_scope_end(scope));
}

static void measure(const char* name, void (*run)(void)) {
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now();
    for (int call = 0; call < kCalls; ++call) run();
    const double mean = (now() - begin) / kCalls;
    if (mean < least) least = mean;
  }
  printf("%s: %.0f ns\n", name, least);
}

int main(void) {
  const int64_t shape[] = {64, 64};
  htone_context* context;
  htone_device* device;
  check(htone_context_default(&context));
  check(htone_device_create(context, "cpu", &device));
  check(htone_tensor_create_zeros(device, HTONE_F32, 2, shape, &a));
  check(htone_tensor_create_zeros(device, HTONE_F32, 2, shape, &b));
  measure("C", add);
  measure("C-no_grad", no_grad);
  return 0;
}
