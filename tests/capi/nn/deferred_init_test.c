/* Modules that are described first, and get their weights when these are needed. */
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

enum { kWide = 512 };

static int64_t weight_bytes(void) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(test_device(), &stats));
  return stats.by_category[HTONE_MEMORY_PARAMETERS];
}

static htone_module* make_wide(void) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_linear(test_device(), kWide, kWide, NULL, &module));
  return keep_module(module);
}

static htone_module* describe_wide(void) {
  htone_scope* deferred = NULL;
  assert_ok(htone_deferred_init_begin(&deferred));
  htone_module* module = make_wide();
  assert_ok(htone_scope_end(deferred));
  return module;
}

static void seed_anew(void) { assert_ok(htone_context_set_seed(test_context(), 3)); }

static void a_described_module_has_no_memory_before_its_first_forward(void** state) {
  (void)state;
  const int64_t before = weight_bytes();
  htone_module* module = describe_wide();
  assert_int_equal(weight_bytes(), before);
  forward(module, make_noise(HTONE_F32, 1, 2, 1, kWide));
  assert_int_equal(weight_bytes() - before, 4 * kWide * (kWide + 1));
}

static void weights_are_those_of_a_module_made_at_once(void** state) {
  (void)state;
  seed_anew();
  htone_tensor* expected = weights_of(make_wide(), 0);
  seed_anew();
  htone_module* module = describe_wide();
  const size_t bytes = sizeof(float) * kWide * kWide;
  float *a = malloc(bytes), *b = malloc(bytes);
  assert_ok(htone_tensor_read(expected, HTONE_F32, a, bytes));
  assert_ok(htone_tensor_read(weights_of(module, 0), HTONE_F32, b, bytes));
  assert_memory_equal(a, b, bytes);
  free(a);
  free(b);
}

static void modules_after_the_scope_have_their_weights_at_once(void** state) {
  (void)state;
  describe_wide();
  const int64_t before = weight_bytes();
  make_wide();
  assert_int_equal(weight_bytes() - before, 4 * kWide * (kWide + 1));
}

static void weights_that_find_no_memory_are_an_error_of_the_forward(void** state) {
  (void)state;
  htone_module* module = describe_wide();
  htone_tensor *x = make_noise(HTONE_F32, 1, 2, 1, kWide), *y = NULL;
  assert_ok(htone_device_release_cached(test_device()));
  assert_ok(htone_device_set_memory_limit(test_device(), 1 << 16));
  assert_fails(htone_module_forward(module, x, NULL, &y), HTONE_ERROR_OUT_OF_MEMORY, "requested");
  assert_ok(htone_device_set_memory_limit(test_device(), 0));
  assert_ok(htone_module_forward(module, x, NULL, &y));
  keep_tensor(y);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_described_module_has_no_memory_before_its_first_forward),
      cmocka_unit_test(weights_are_those_of_a_module_made_at_once),
      cmocka_unit_test(modules_after_the_scope_have_their_weights_at_once),
      cmocka_unit_test(weights_that_find_no_memory_are_an_error_of_the_forward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
