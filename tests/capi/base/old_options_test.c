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

/* Returns one weight after two steps, each with a gradient of 1. */
static double weight_after_two_steps(const htone_optimizer_options* options) {
  htone_module* module = make_linear(test_device(), 1, 1, 1);
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_tensor_fill(weights_of(module, 0), 1));
  assert_ok(htone_optimizer_create(module, options, &optimizer));
  keep_optimizer(optimizer);
  for (int step = 0; step < 2; ++step) {
    assert_ok(htone_optimizer_zero_grad(optimizer));
    backward(sum_of(forward(module, make_tensor(HTONE_F32, (const double[]){1}, 2, 1, 1))));
    assert_ok(htone_optimizer_step(optimizer));
  }
  return item_of(weights_of(module, 0));
}

static void a25_a_short_optimizer_structure_has_no_momentum(void** state) {
  (void)state;
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  options.lr = 0.25;
  options.momentum = 0.5;
  assert_near(weight_after_two_steps(&options), 1 - 0.25 - 0.375, 0);
  spoil_behind(&options, offsetof(htone_optimizer_options, momentum), sizeof options);
  assert_near(weight_after_two_steps(&options), 1 - 0.25 - 0.25, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a25_a_short_context_structure_gets_the_system_tables),
      cmocka_unit_test(a25_a_short_convolution_structure_gets_the_default_windows),
      cmocka_unit_test(a25_a_short_optimizer_structure_has_no_momentum),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
