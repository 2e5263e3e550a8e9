/* Modules that are described first, and get their weights when these are needed. tests/nn/deferred_test.cpp has the
 * rest. */
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

static void a_described_module_has_no_memory_before_its_first_forward(void** state) {
  (void)state;
  const int64_t before = weight_bytes();
  htone_module* module = describe_wide();
  assert_int_equal(weight_bytes(), before);
  forward(module, make_noise(HTONE_F32, 1, 2, 1, kWide));
  assert_int_equal(weight_bytes() - before, 4 * kWide * (kWide + 1));
}

static void modules_after_the_scope_have_their_weights_at_once(void** state) {
  (void)state;
  describe_wide();
  const int64_t before = weight_bytes();
  make_wide();
  assert_int_equal(weight_bytes() - before, 4 * kWide * (kWide + 1));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_described_module_has_no_memory_before_its_first_forward),
      cmocka_unit_test(modules_after_the_scope_have_their_weights_at_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
