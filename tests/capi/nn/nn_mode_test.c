/* Modes of modules, and their buffers. */
#include "test_modules.h"

static int is_training(htone_module* module) {
  int32_t training = -1;
  assert_ok(htone_module_is_training(module, &training));
  return training;
}

static void a_new_module_is_in_training_mode(void** state) {
  (void)state;
  htone_module* linear = make_linear(test_device(), 2, 3, 1);
  assert_int_equal(is_training(linear), 1);
  assert_int_equal(is_training(make_sequential(1, &linear)), 1);
}

static void the_mode_reaches_every_part(void** state) {
  (void)state;
  htone_module* linear = make_linear(test_device(), 2, 3, 1);
  htone_module* inner = make_sequential(1, &linear);
  htone_module* module = make_sequential(1, &inner);
  assert_ok(htone_module_set_training(module, 0));
  assert_int_equal(is_training(module), 0);
  assert_int_equal(is_training(inner), 0);
  assert_int_equal(is_training(linear), 0);
  assert_ok(htone_module_set_training(linear, 7));
  assert_int_equal(is_training(linear), 1);
  assert_int_equal(is_training(module), 0);
  assert_ok(htone_module_set_training(module, 1));
  assert_int_equal(is_training(inner), 1);
}

static void modules_without_state_have_no_buffers(void** state) {
  (void)state;
  size_t count = 7;
  htone_module* linear = make_linear(test_device(), 2, 3, 1);
  assert_ok(htone_module_buffer_count(make_sequential(1, &linear), &count));
  assert_int_equal(count, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_module_is_in_training_mode),
      cmocka_unit_test(the_mode_reaches_every_part),
      cmocka_unit_test(modules_without_state_have_no_buffers),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
