/* The context's generator: seeds, and states that are put back. */
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

static htone_generator_state state_of(htone_context* context) {
  htone_generator_state state = {.struct_size = sizeof state};
  assert_ok(htone_context_generator_state(context, &state));
  return state;
}

/* Three draws of different kinds. */
enum { kDrawn = 24 };
static void draw(htone_context* context, double* out) {
  static const int64_t shape[] = {8};
  htone_device* device = make_device(context);
  htone_tensor *uniform = NULL, *ones = NULL, *dropped = NULL, *order = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 1, shape, 0, &uniform));
  assert_ok(htone_init_uniform(keep_tensor(uniform), 0, 1));
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 1, shape, 1, &ones));
  assert_ok(htone_dropout(keep_tensor(ones), 0.5, 1, &dropped));
  keep_tensor(dropped);
  assert_ok(htone_randperm(device, 8, &order));
  keep_tensor(order);
  assert_ok(htone_tensor_read(uniform, HTONE_F64, out, 8 * sizeof *out));
  assert_ok(htone_tensor_read(dropped, HTONE_F64, out + 8, 8 * sizeof *out));
  assert_ok(htone_tensor_read(order, HTONE_F64, out + 16, 8 * sizeof *out));
}

static void a_context_begins_with_its_seed_and_no_draw(void** state) {
  (void)state;
  htone_context* context = make_context(1, 9);
  double values[kDrawn];
  assert_true(state_of(context).seed == 9 && state_of(context).sequence == 0);
  draw(context, values);
  assert_true(state_of(context).seed == 9 && state_of(context).sequence == 3);
}

static void a_state_that_is_put_back_repeats_the_draws(void** state) {
  (void)state;
  htone_context *context = make_context(1, 9), *other = make_context(1, 4);
  double first[kDrawn], second[kDrawn], again[kDrawn];
  draw(context, first);
  const htone_generator_state saved = state_of(context);
  draw(context, second);
  assert_memory_not_equal(first, second, sizeof first);
  assert_ok(htone_context_set_generator_state(context, &saved));
  draw(context, again);
  assert_memory_equal(again, second, sizeof again);
  assert_ok(htone_context_set_generator_state(other, &saved));
  draw(other, again);
  assert_memory_equal(again, second, sizeof again);
}

static void a_seed_begins_anew_as_a_new_context_does(void** state) {
  (void)state;
  htone_context *context = make_context(1, 9), *fresh = make_context(1, 17);
  double expected[kDrawn], values[kDrawn];
  draw(fresh, expected);
  draw(context, values);
  assert_memory_not_equal(values, expected, sizeof values);
  assert_ok(htone_context_set_seed(context, 17));
  assert_true(state_of(context).seed == 17 && state_of(context).sequence == 0);
  draw(context, values);
  assert_memory_equal(values, expected, sizeof values);
}

static void a_call_that_fails_draws_nothing_after_a_seed(void** state) {
  (void)state;
  htone_context* context = make_context(1, 9);
  htone_tensor* out = NULL;
  assert_ok(htone_context_set_seed(context, 1));
  assert_fails(htone_randperm(make_device(context), INT64_MAX, &out), HTONE_ERROR_INVALID_ARGUMENT, "n");
  assert_true(state_of(context).sequence == 0);
}

static void a_checkpoint_brings_the_seed_with_it(void** state) {
  (void)state;
  htone_context *context = make_context(1, 9), *resumed = make_context(1, 2);
  htone_checkpoint *saver = NULL, *loader = NULL;
  double first[kDrawn], expected[kDrawn], values[kDrawn];
  int64_t step = -1;
  assert_ok(htone_context_set_seed(context, UINT64_MAX));
  draw(context, first);
  assert_ok(htone_checkpoint_create(context, test_folder(), &saver));
  assert_ok(htone_checkpoint_save(saver, 1));
  assert_ok(htone_checkpoint_release(saver));
  draw(context, expected);
  assert_ok(htone_checkpoint_create(resumed, test_folder(), &loader));
  assert_ok(htone_checkpoint_load(loader, &step));
  assert_ok(htone_checkpoint_release(loader));
  assert_int_equal(step, 1);
  assert_true(state_of(resumed).seed == UINT64_MAX && state_of(resumed).sequence == 3);
  draw(resumed, values);
  assert_memory_equal(values, expected, sizeof values);
}

static void states_that_cannot_be_are_refused(void** state) {
  (void)state;
  htone_context* context = make_context(1, 9);
  htone_generator_state wrong = state_of(context);
  wrong.sequence = UINT64_MAX;
  assert_fails(htone_context_set_generator_state(context, &wrong), HTONE_ERROR_INVALID_ARGUMENT, "saved.sequence");
  wrong = state_of(context);
  wrong.microbatch = UINT64_MAX;
  assert_fails(htone_context_set_generator_state(context, &wrong), HTONE_ERROR_INVALID_ARGUMENT, "saved.microbatch");
  wrong.struct_size = 0;
  assert_fails(htone_context_set_generator_state(context, &wrong), HTONE_ERROR_INVALID_ARGUMENT, "struct_size");
  assert_true(state_of(context).seed == 9 && state_of(context).sequence == 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_context_begins_with_its_seed_and_no_draw),
      cmocka_unit_test(a_state_that_is_put_back_repeats_the_draws),
      cmocka_unit_test(a_seed_begins_anew_as_a_new_context_does),
      cmocka_unit_test(a_call_that_fails_draws_nothing_after_a_seed),
      cmocka_unit_test(a_checkpoint_brings_the_seed_with_it),
      cmocka_unit_test(states_that_cannot_be_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
