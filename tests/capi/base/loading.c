/* A program that does not link the library. It loads and unloads it by path (argv[1]) a hundred times, computes with
 * two threads each time, and once leaves a context with sleeping threads behind. Row H4 of tests/faults.md. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "halftone/halftone.h"

enum { kTimes = 100, kSize = 400000 };

typedef struct Calls {
  htone_status (*context_options_init)(htone_context_options*);
  htone_status (*context_create)(const htone_context_options*, htone_context**);
  htone_status (*context_release)(htone_context*);
  htone_status (*device_create)(htone_context*, const char*, htone_device**);
  htone_status (*device_release)(htone_device*);
  htone_status (*tensor_create_full)(htone_device*, htone_dtype, int32_t, const int64_t*, double, htone_tensor**);
  htone_status (*tensor_release)(htone_tensor*);
  htone_status (*sum)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);
  htone_status (*tensor_item)(htone_tensor*, double*);
  htone_status (*debug_live_handles)(int64_t*);
} Calls;

/* POSIX lets an object pointer hold a function's address, but C does not allow the cast. */
static void find(void* library, const char* name, void* out) {
  *(void**)out = dlsym(library, name);
  if (*(void**)out == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
}

static Calls find_calls(void* library) {
  Calls calls;
  find(library, "htone_context_options_init", &calls.context_options_init);
  find(library, "htone_context_create", &calls.context_create);
  find(library, "htone_context_release", &calls.context_release);
  find(library, "htone_device_create", &calls.device_create);
  find(library, "htone_device_release", &calls.device_release);
  find(library, "htone_tensor_create_full", &calls.tensor_create_full);
  find(library, "htone_tensor_release", &calls.tensor_release);
  find(library, "htone_sum", &calls.sum);
  find(library, "htone_tensor_item", &calls.tensor_item);
  find(library, "htone_debug_live_handles", &calls.debug_live_handles);
  return calls;
}

static int sum_is_right(const Calls* calls, htone_context* context) {
  htone_device* device = NULL;
  htone_tensor *ones = NULL, *sum = NULL;
  const int64_t shape = kSize;
  double value = 0;
  const int right = calls->device_create(context, "cpu", &device) == HTONE_OK &&
                    calls->tensor_create_full(device, HTONE_F32, 1, &shape, 1, &ones) == HTONE_OK &&
                    calls->sum(ones, 0, NULL, 0, &sum) == HTONE_OK && calls->tensor_item(sum, &value) == HTONE_OK &&
                    value == kSize;
  calls->tensor_release(sum);
  calls->tensor_release(ones);
  calls->device_release(device);
  return right;
}

int main(int argc, char** argv) {
  htone_context* left_open = NULL;
  int64_t live = -1;
  if (argc != 2) return 2;
  for (int i = 0; i < kTimes; ++i) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const Calls calls = find_calls(library);
    htone_context_options options;
    htone_context* context = NULL;
    calls.context_options_init(&options);
    options.num_threads = 2;
    if (calls.context_create(&options, &context) != HTONE_OK || !sum_is_right(&calls, context)) return 1;
    if (left_open == NULL) {
      left_open = context;
    } else if (calls.context_release(context) != HTONE_OK) {
      return 1;
    }
    if (i == kTimes - 1 &&
        (calls.context_release(left_open) != HTONE_OK || calls.debug_live_handles(&live) != HTONE_OK)) {
      return 1;
    }
    dlclose(library);
  }
  printf("opened and closed %d times, %lld handles left\n", kTimes, (long long)live);
  return live != 0;
}
