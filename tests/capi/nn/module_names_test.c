/* Work that listing a module's parameters takes, counted in allocations: it grows with their number and not with its
 * square. */
#include <stdlib.h>

#include "failing_allocations.h"
#include "test_modules.h"

enum { kFewest = 100 };

static htone_module* make_row(int count) {
  htone_module** layers = calloc((size_t)count, sizeof *layers);
  for (int i = 0; i < count; ++i) layers[i] = make_linear(test_device(), 1, 1, 1);
  htone_module* row = make_sequential((size_t)count, layers);
  free(layers);
  return row;
}

/* Asks for the count, and for each parameter and name by its index. */
static int64_t allocations_of_listing(htone_module* module, size_t expected) {
  htone_status status = HTONE_OK;
  size_t count = 0, buffers = 0;
  fail_allocation(-1, 0);
  status = htone_module_parameter_count(module, &count);
  for (size_t i = 0; i < count && status == HTONE_OK; ++i) {
    char name[32];
    size_t length = 0;
    htone_parameter* parameter = NULL;
    status = htone_module_parameter_name(module, i, name, sizeof name, &length);
    if (status == HTONE_OK) status = htone_module_parameter(module, i, &parameter);
    if (status == HTONE_OK) status = htone_module_buffer_count(module, &buffers);
    htone_parameter_release(parameter);
  }
  ignore_allocations();
  assert_ok(status);
  assert_int_equal(count, expected);
  return allocations_counted();
}

static void a36_listing_parameters_by_index_takes_work_in_proportion_to_their_number(void** state) {
  (void)state;
  const int64_t few = allocations_of_listing(make_row(kFewest), 2 * kFewest);
  const int64_t many = allocations_of_listing(make_row(8 * kFewest), 16 * kFewest);
  if (many > 10 * few) print_error("%lld allocations, then %lld\n", (long long)few, (long long)many);
  assert_true(few > 0 && many <= 10 * few);
}

static void expect_name(htone_module* module, size_t index, const char* expected) {
  char name[32];
  size_t length = 0;
  assert_ok(htone_module_parameter_name(module, index, name, sizeof name, &length));
  assert_string_equal(name, expected);
}

static htone_status keep_input(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module, (void)user;
  *out = input;
  return htone_tensor_retain(input);
}

/* A second listing shows additions to any module inside. */
static void a_list_shows_what_was_added_at_any_depth(void** state) {
  (void)state;
  size_t count = 0;
  htone_module *inner = NULL, *linear = make_linear(test_device(), 2, 2, 1);
  assert_ok(htone_module_create_custom(keep_input, NULL, NULL, NULL, &inner));
  keep_module(inner);
  htone_module* outer = make_sequential(1, &inner);
  assert_ok(htone_module_parameter_count(outer, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_module_add_child(inner, "late", linear));
  assert_ok(htone_module_parameter_count(outer, &count));
  assert_int_equal(count, 2);
  expect_name(outer, 1, "0.late.bias");
  assert_ok(htone_module_add_parameter(inner, "own", parameter_of(linear, 0)));
  assert_ok(htone_module_add_buffer(inner, "state", make_scalar(HTONE_F32, 1)));
  expect_name(outer, 0, "0.own");
  expect_name(outer, 2, "0.late.bias");
  assert_ok(htone_module_buffer_count(outer, &count));
  assert_int_equal(count, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a36_listing_parameters_by_index_takes_work_in_proportion_to_their_number),
      cmocka_unit_test(a_list_shows_what_was_added_at_any_depth),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
