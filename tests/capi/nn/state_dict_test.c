/* State dicts: names and tensors; the state of modules, and which parts of it load. */
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

static htone_state_dict* make_state_dict(void) {
  htone_state_dict* state_dict = NULL;
  assert_ok(htone_state_dict_create(&state_dict));
  return keep_state_dict(state_dict);
}

static htone_tensor* find(htone_state_dict* state_dict, const char* name) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_state_dict_find(state_dict, name, &tensor));
  return keep_tensor(tensor);
}

/* Asserts the names in order; in `expected`, one space follows each name. */
static void assert_names(htone_state_dict* state_dict, const char* expected) {
  char names[512] = "", name[64];
  size_t count = 0, length = 0;
  assert_ok(htone_state_dict_count(state_dict, &count));
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_state_dict_name(state_dict, i, name, sizeof name, &length));
    assert_int_equal(length, strlen(name));
    strcat(strcat(names, name), " ");
  }
  assert_string_equal(names, expected);
}

static htone_module* make_two_layers(void) {
  htone_module* layers[] = {make_linear(test_device(), 2, 2, 1), make_linear(test_device(), 2, 1, 1)};
  return make_sequential(2, layers);
}

static void tensors_are_found_by_name_and_by_place(void** state) {
  (void)state;
  htone_state_dict* state_dict = make_state_dict();
  htone_tensor *second = make_ramp(HTONE_F32, 1, 3), *by_place = NULL, *absent = NULL;
  assert_names(state_dict, "");
  assert_ok(htone_state_dict_add(state_dict, "b", make_ramp(HTONE_I64, 1, 2)));
  assert_ok(htone_state_dict_add(state_dict, "a", second));
  assert_names(state_dict, "b a ");
  assert_ok(htone_tensor_fill(second, 4));
  assert_values(find(state_dict, "a"), 0, 4, 4, 4);
  assert_ok(htone_state_dict_tensor(state_dict, 0, &by_place));
  assert_values(keep_tensor(by_place), 0, 0, 1);
  assert_fails(htone_state_dict_find(state_dict, "c", &absent), HTONE_ERROR_INVALID_ARGUMENT, "name=\"c\"");
  assert_fails(htone_state_dict_tensor(state_dict, 2, &absent), HTONE_ERROR_INVALID_ARGUMENT,
               "index=2 is outside [0, 2)");
  assert_null(absent);
}

/* A24 */
static void a_name_is_one_line_of_text_that_is_not_there_yet(void** state) {
  (void)state;
  htone_state_dict* state_dict = make_state_dict();
  htone_tensor* tensor = make_scalar(HTONE_F32, 1);
  char* longest = malloc(65537);
  assert_non_null(longest);
  memset(longest, 'n', 65536);
  longest[65536] = 0;
  assert_fails(htone_state_dict_add(state_dict, longest, tensor), HTONE_ERROR_INVALID_ARGUMENT, "65536 bytes");
  longest[4096] = 0;
  assert_ok(htone_state_dict_add(state_dict, longest, tensor));
  free(longest);
  assert_ok(htone_state_dict_add(state_dict, "../up", tensor));
  assert_fails(htone_state_dict_add(state_dict, "../up", tensor), HTONE_ERROR_INVALID_ARGUMENT, "stands twice");
  assert_fails(htone_state_dict_add(state_dict, "", tensor), HTONE_ERROR_INVALID_ARGUMENT, "name is empty");
  assert_fails(htone_state_dict_add(state_dict, "a\nb", tensor), HTONE_ERROR_INVALID_ARGUMENT, "0x0a at byte 1");
  assert_fails(htone_state_dict_add(state_dict, "a\xff", tensor), HTONE_ERROR_INVALID_ARGUMENT, "no UTF-8");
  size_t count = 0;
  assert_ok(htone_state_dict_count(state_dict, &count));
  assert_int_equal(count, 2);
}

static void the_state_of_a_module_is_live(void** state) {
  (void)state;
  htone_module* module = make_two_layers();
  htone_state_dict* state_dict = state_dict_of(module);
  assert_names(state_dict, "0.weight 0.bias 1.weight 1.bias ");
  assert_int_equal(requires_grad(find(state_dict, "0.weight")), 0);
  assert_ok(htone_tensor_fill(weights_of(module, 1), 3));
  assert_values(find(state_dict, "0.bias"), 0, 3, 3);
}

static htone_optimizer* make_adamw_in(htone_module* module, int32_t master_storage) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.compute_dtype = HTONE_BF16;
  options.grad_dtype = master_storage == HTONE_MASTER_SPLIT ? HTONE_BF16 : HTONE_F32;
  options.master_storage = master_storage;
  return make_adamw(module, &options);
}

/* Reading a parameter in bf16 returns its low-precision copy itself, or the high half of split weights. Loading must
 * not overwrite one before the other has been read. */
static void copies_of_parameters_load_into_each_other(void** state) {
  (void)state;
  for (int32_t storage = HTONE_MASTER_FULL; storage <= HTONE_MASTER_SPLIT; ++storage) {
    htone_module* layers[] = {make_linear(test_device(), 2, 1, 0), make_linear(test_device(), 2, 1, 0)};
    htone_module* module = make_sequential(2, layers);
    assert_ok(htone_tensor_write(weights_of(module, 0), HTONE_F64, (const double[]){1, 2}, 2 * sizeof(double)));
    assert_ok(htone_tensor_write(weights_of(module, 1), HTONE_F64, (const double[]){10, 20}, 2 * sizeof(double)));
    make_adamw_in(module, storage);
    htone_state_dict* state_dict = make_state_dict();
    assert_ok(htone_state_dict_add(state_dict, "0.weight", read_parameter(module, 1, HTONE_BF16)));
    assert_ok(htone_state_dict_add(state_dict, "1.weight", read_parameter(module, 0, HTONE_BF16)));
    assert_ok(htone_module_load_state_dict(module, state_dict, NULL));
    static const htone_dtype dtypes[] = {HTONE_F32, HTONE_BF16};
    for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
      assert_values(read_parameter(module, 0, dtypes[i]), 0, 10, 20);
      assert_values(read_parameter(module, 1, dtypes[i]), 0, 1, 2);
    }
  }
}

static htone_state_dict* compare(htone_module* module, htone_state_dict* state_dict,
                                 htone_status (*function)(htone_module*, htone_state_dict*, htone_state_dict**)) {
  htone_state_dict* out = NULL;
  assert_ok(function(module, state_dict, &out));
  return keep_state_dict(out);
}

/* F15 */
static void names_that_differ_are_told_and_refused_unless_asked_for(void** state) {
  (void)state;
  htone_module* module = make_two_layers();
  htone_state_dict* state_dict = make_state_dict();
  assert_ok(htone_state_dict_add(state_dict, "1.bias", make_tensor(HTONE_F32, (const double[]){8}, 1, 1)));
  assert_ok(htone_state_dict_add(state_dict, "2.bias", make_tensor(HTONE_F32, (const double[]){9}, 1, 1)));
  assert_names(compare(module, state_dict, htone_module_missing_state), "0.weight 0.bias 1.weight ");
  assert_names(compare(module, state_dict, htone_module_unexpected_state), "2.bias ");

  const double before = item_of(weights_of(module, 3));
  assert_fails(htone_module_load_state_dict(module, state_dict, NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "missing: 3 (0.weight, 0.bias, 1.weight); unexpected: 1 (2.bias)");
  assert_near(item_of(weights_of(module, 3)), before, 0);
  htone_load_options options;
  assert_ok(htone_load_options_init(&options));
  assert_int_equal(options.strict, 1);
  options.strict = 0;
  assert_ok(htone_module_load_state_dict(module, state_dict, &options));
  assert_values(weights_of(module, 3), 0, 8);
}

/* F15 */
static void a_message_tells_ten_names_at_most(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 2, 0);
  htone_state_dict* state_dict = state_dict_of(module);
  char name[8];
  for (char letter = 'a'; letter < 'a' + 12; ++letter) {
    name[0] = letter;
    name[1] = 0;
    assert_ok(htone_state_dict_add(state_dict, name, make_scalar(HTONE_F32, 1)));
  }
  assert_fails(htone_module_load_state_dict(module, state_dict, NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "missing: 0; unexpected: 12 (a, b, c, d, e, f, g, h, i, j, ...)");
}

/* F15 */
static void shapes_and_dtypes_that_differ_are_told_and_nothing_is_loaded(void** state) {
  (void)state;
  htone_module* module = make_two_layers();
  htone_state_dict *shapes = make_state_dict(), *dtypes = make_state_dict();
  htone_load_options options = {.struct_size = sizeof options, .strict = 0};
  const double before = item_of(weights_of(module, 3));
  htone_tensor* other = make_tensor(HTONE_F32, (const double[]){before + 1}, 1, 1);
  assert_ok(htone_state_dict_add(shapes, "1.bias", other));
  assert_ok(htone_state_dict_add(shapes, "0.bias", make_ramp(HTONE_F32, 1, 3)));
  assert_ok(htone_state_dict_add(shapes, "1.weight", make_ramp(HTONE_F32, 2, 2, 1)));
  assert_fails(htone_module_load_state_dict(module, shapes, &options), HTONE_ERROR_SHAPE_MISMATCH,
               "2 (0.bias [3] for [2], 1.weight [2, 1] for [1, 2])");
  assert_ok(htone_state_dict_add(dtypes, "1.bias", other));
  assert_ok(htone_state_dict_add(dtypes, "0.bias", make_ramp(HTONE_I32, 1, 2)));
  assert_fails(htone_module_load_state_dict(module, dtypes, &options), HTONE_ERROR_DTYPE_MISMATCH,
               "0.bias i32 for f32");
  assert_near(item_of(weights_of(module, 3)), before, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_are_found_by_name_and_by_place),
      cmocka_unit_test(a_name_is_one_line_of_text_that_is_not_there_yet),
      cmocka_unit_test(the_state_of_a_module_is_live),
      cmocka_unit_test(copies_of_parameters_load_into_each_other),
      cmocka_unit_test(names_that_differ_are_told_and_refused_unless_asked_for),
      cmocka_unit_test(a_message_tells_ten_names_at_most),
      cmocka_unit_test(shapes_and_dtypes_that_differ_are_told_and_nothing_is_loaded),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
