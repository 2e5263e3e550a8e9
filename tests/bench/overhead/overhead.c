/* Nanoseconds of an addition of two tensors of 64x64 and of the release of its result: the least mean of a round. */
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

int main(void) {
  const int64_t shape[] = {64, 64};
  htone_context* context;
  htone_device* device;
  htone_tensor *a, *b, *sum;
  check(htone_context_default(&context));
  check(htone_device_create(context, "cpu", &device));
  check(htone_tensor_create_zeros(device, HTONE_F32, 2, shape, &a));
  check(htone_tensor_create_zeros(device, HTONE_F32, 2, shape, &b));
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now();
    for (int call = 0; call < kCalls; ++call) {
      check(htone_add(a, b, &sum));
      check(htone_tensor_release(sum));
    }
    const double mean = (now() - begin) / kCalls;
    if (mean < least) least = mean;
  }
  printf("C: %.0f ns\n", least);
  return 0;
}
