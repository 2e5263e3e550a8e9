/* Callers that were built when an options structure was shorter. struct_size tells how many bytes they know; the memory
 * after those is theirs, and the library uses its defaults for the missing members. Row A25 of tests/faults.md; the
 * misuse test covers the rest. */
#include <string.h>

#include "test_modules.h"

/* Fills the caller's memory after the known members with garbage. */
static void spoil_behind(void* options, size_t known, size_t size) {
  memset((char*)options + known, 0xff, size - known);
  memcpy(options, &(uint32_t){(uint32_t)known}, sizeof(uint32_t));
}

static void a25_a_short_context_structure_gets_the_system_tables(void** state) {
  (void)state;
  htone_context_options options;
  htone_context* context = NULL;
  int32_t threads = 0;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = 3;
  spoil_behind(&options, offsetof(htone_context_options, seed), sizeof options);
  assert_ok(htone_context_create(&options, &context));
  keep_context(context);
  assert_ok(htone_context_num_threads(context, &threads));
  assert_int_equal(threads, 3);
}

static void a25_a_short_convolution_structure_gets_the_default_windows(void** state) {
  (void)state;
  htone_conv_options options;
  htone_tensor *image = make_noise(HTONE_F32, 1, 4, 1, 1, 6, 6), *kernel = make_noise(HTONE_F32, 2, 4, 1, 1, 2, 2);
  htone_tensor* out = NULL;
  assert_ok(htone_conv_options_init(&options));
  options.stride_h = 2;
  spoil_behind(&options, offsetof(htone_conv_options, stride_w), sizeof options);
  assert_ok(htone_conv2d(image, kernel, NULL, &options, &out));
  assert_shape(keep_tensor(out), 1, 1, 3, 5);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a25_a_short_context_structure_gets_the_system_tables),
      cmocka_unit_test(a25_a_short_convolution_structure_gets_the_default_windows),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
