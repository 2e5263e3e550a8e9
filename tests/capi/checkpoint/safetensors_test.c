/* The safetensors format in memory, tensor by tensor, and its texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

static htone_state_dict* new_state(void) {
  htone_state_dict* state = NULL;
  assert_ok(htone_state_dict_create(&state));
  return keep_state_dict(state);
}

/* "a" [2, 2] f32, "b" [3] i64, "c" [] bf16, "d" [2] bool, "e" without elements. */
static htone_state_dict* five_tensors(void) {
  htone_state_dict* state = new_state();
  assert_ok(htone_state_dict_add(state, "a", make_ramp(HTONE_F32, 2, 2, 2)));
  assert_ok(htone_state_dict_add(state, "b", make_ramp(HTONE_I64, 1, 3)));
  assert_ok(htone_state_dict_add(state, "c", make_scalar(HTONE_BF16, 1.5)));
  assert_ok(htone_state_dict_add(state, "d", make_ramp(HTONE_BOOL, 1, 2)));
  assert_ok(htone_state_dict_add(state, "e", make_ramp(HTONE_F32, 2, 0, 4)));
  return state;
}

static htone_tensor* found(htone_state_dict* state, const char* name) {
  htone_tensor* out = NULL;
  assert_ok(htone_state_dict_find(state, name, &out));
  return keep_tensor(out);
}

static void assert_five_tensors(htone_state_dict* state) {
  size_t count = 0;
  assert_ok(htone_state_dict_count(state, &count));
  assert_int_equal(count, 5);
  assert_values(found(state, "a"), 0, 0, 1, 2, 3);
  assert_shape(found(state, "a"), 2, 2);
  assert_values(found(state, "b"), 0, 0, 1, 2);
  assert_int_equal(dtype_of(found(state, "b")), HTONE_I64);
  assert_values(found(state, "c"), 0, 1.5);
  assert_scalar(found(state, "c"));
  assert_values(found(state, "d"), 0, 0, 1);
  assert_shape(found(state, "e"), 0, 4);
}

static const char* text_of(htone_state_dict* state, const char* key) {
  static char text[64];
  size_t length = 0;
  assert_ok(htone_state_dict_text(state, key, text, sizeof text, &length));
  assert_int_equal(length, strlen(text));
  return text;
}

static const char* path_in(const char* name) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

/* The file of a state dict in memory that the caller frees. */
static unsigned char* saved(htone_state_dict* state, size_t* size) {
  unsigned char none;
  assert_fails(htone_safetensors_save_memory(state, &none, 0, size), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity=0");
  unsigned char* bytes = malloc(*size);
  size_t length = 0;
  assert_non_null(bytes);
  assert_ok(htone_safetensors_save_memory(state, bytes, *size, &length));
  assert_int_equal(length, *size);
  return bytes;
}

static htone_state_dict* loaded(const void* bytes, size_t size) {
  htone_state_dict* state = NULL;
  assert_ok(htone_safetensors_load_memory(test_device(), bytes, size, &state));
  return keep_state_dict(state);
}

static void a_file_in_memory_holds_every_tensor(void** state) {
  (void)state;
  size_t size = 0;
  unsigned char* bytes = saved(five_tensors(), &size);
  assert_five_tensors(loaded(bytes, size));
  free(bytes);
}

static void memory_and_disk_have_the_same_bytes(void** state) {
  (void)state;
  htone_state_dict *tensors = five_tensors(), *from_disk = NULL;
  size_t size = 0;
  assert_ok(htone_state_dict_set_text(tensors, "format", "pt"));
  unsigned char *bytes = saved(tensors, &size), *file_bytes = malloc(size + 1);
  assert_ok(htone_safetensors_save(test_context(), path_in("file"), tensors));
  FILE* file = fopen(path_in("file"), "rb");
  assert_non_null(file);
  assert_int_equal(fread(file_bytes, 1, size + 1, file), size);
  fclose(file);
  assert_memory_equal(bytes, file_bytes, size);
  assert_ok(htone_safetensors_load(test_device(), path_in("file"), &from_disk));
  assert_five_tensors(keep_state_dict(from_disk));
  assert_string_equal(text_of(from_disk, "format"), "pt");
  free(bytes);
  free(file_bytes);
}

static void memory_too_small_is_not_written(void** state) {
  (void)state;
  size_t size = 0, length = 0;
  unsigned char* bytes = saved(five_tensors(), &size);
  memset(bytes, 0x5a, size);
  assert_fails(htone_safetensors_save_memory(five_tensors(), bytes, size - 1, &length), HTONE_ERROR_BUFFER_TOO_SMALL,
               "capacity");
  assert_int_equal(length, size);
  for (size_t i = 0; i < size; ++i) assert_int_equal(bytes[i], 0x5a);
  free(bytes);
}

static void bytes_that_are_no_file_are_refused(void** state) {
  (void)state;
  size_t size = 0;
  unsigned char* bytes = saved(five_tensors(), &size);
  htone_state_dict* out = NULL;
  for (size_t cut = 0; cut < size; ++cut) {
    assert_fails(htone_safetensors_load_memory(test_device(), bytes, cut, &out), HTONE_ERROR_FORMAT, "the memory");
  }
  bytes[size - 1] = 2; /* the last tensor with bytes is of bools */
  assert_fails(htone_safetensors_load_memory(test_device(), bytes, size, &out), HTONE_ERROR_FORMAT, "bool");
  assert_null(out);
  free(bytes);
}

static void an_open_file_lists_its_tensors_and_reads_one(void** state) {
  (void)state;
  htone_state_dict *tensors = five_tensors(), *open = NULL;
  assert_ok(htone_state_dict_set_text(tensors, "step", "12"));
  assert_ok(htone_safetensors_save(test_context(), path_in("file"), tensors));
  assert_ok(htone_safetensors_open(test_device(), path_in("file"), &open));
  keep_state_dict(open);
  char names[6] = "", name[8];
  for (size_t i = 0; i < 5; ++i) {
    size_t length = 0;
    assert_ok(htone_state_dict_name(open, i, name, sizeof name, &length));
    strcat(names, name);
  }
  assert_string_equal(names, "baecd"); /* wide elements first */
  assert_string_equal(text_of(open, "step"), "12");
  assert_five_tensors(open);
  htone_tensor *first = found(open, "a"), *second = found(open, "a");
  assert_ok(htone_init_uniform(first, 5, 6));
  assert_values(second, 0, 0, 1, 2, 3); /* each is a tensor of its own */
  htone_tensor *by_place = NULL, *missing = NULL;
  assert_ok(htone_state_dict_tensor(open, 0, &by_place));
  assert_values(keep_tensor(by_place), 0, 0, 1, 2);
  assert_fails(htone_state_dict_find(open, "x", &missing), HTONE_ERROR_INVALID_ARGUMENT, "name=\"x\"");
}

static void an_open_file_stays_readable_when_it_is_removed(void** state) {
  (void)state;
  htone_state_dict* open = NULL;
  assert_ok(htone_safetensors_save(test_context(), path_in("file"), five_tensors()));
  assert_ok(htone_safetensors_open(test_device(), path_in("file"), &open));
  keep_state_dict(open);
  assert_int_equal(remove(path_in("file")), 0);
  assert_five_tensors(open);
}

static void a_module_loads_from_an_open_file(void** state) {
  (void)state;
  htone_module *from = make_linear(test_device(), 3, 2, 1), *to = make_linear(test_device(), 3, 2, 1);
  htone_state_dict *own = NULL, *open = NULL;
  assert_ok(htone_module_state_dict(from, &own));
  assert_ok(htone_safetensors_save(test_context(), path_in("model"), keep_state_dict(own)));
  assert_ok(htone_safetensors_open(test_device(), path_in("model"), &open));
  assert_ok(htone_module_load_state_dict(to, keep_state_dict(open), NULL));
  double* expected = values_of(weights_of(from, 0));
  check_values(weights_of(to, 0), 0, expected, 6, __FILE__, __LINE__);
  free(expected);
}

static void a_checkpoint_saves_an_open_file_but_does_not_write_it(void** state) {
  (void)state;
  htone_state_dict* open = NULL;
  htone_checkpoint* checkpoint = NULL;
  int64_t step = -1;
  assert_ok(htone_safetensors_save(test_context(), path_in("file"), five_tensors()));
  assert_ok(htone_safetensors_open(test_device(), path_in("file"), &open));
  keep_state_dict(open);
  assert_ok(htone_checkpoint_create(test_context(), path_in("run"), &checkpoint));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "base", open));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_STATE, "only read");
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_five_tensors(open);
}

static void texts_are_kept_in_order_and_replaced_by_key(void** state) {
  (void)state;
  htone_state_dict* tensors = new_state();
  size_t count = 9, length = 0, size = 0;
  char key[8];
  assert_ok(htone_state_dict_text_count(tensors, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_state_dict_set_text(tensors, "one", "1"));
  assert_ok(htone_state_dict_set_text(tensors, "two", ""));
  assert_ok(htone_state_dict_set_text(tensors, "one", "\xc3\xa4\"\\\n"));
  unsigned char* bytes = saved(tensors, &size);
  htone_state_dict* read = loaded(bytes, size);
  free(bytes);
  assert_ok(htone_state_dict_text_count(read, &count));
  assert_int_equal(count, 2);
  assert_ok(htone_state_dict_text_key(read, 0, key, sizeof key, &length));
  assert_string_equal(key, "one");
  assert_ok(htone_state_dict_text_key(read, 1, key, sizeof key, &length));
  assert_string_equal(key, "two");
  assert_string_equal(text_of(read, "one"), "\xc3\xa4\"\\\n");
  assert_string_equal(text_of(read, "two"), "");
  assert_fails(htone_state_dict_text(read, "one", key, 2, &length), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity=2");
  assert_int_equal(length, 5);
  assert_fails(htone_state_dict_text(read, "three", key, sizeof key, &length), HTONE_ERROR_INVALID_ARGUMENT,
               "key=\"three\"");
  assert_fails(htone_state_dict_text_key(read, 2, key, sizeof key, &length), HTONE_ERROR_INVALID_ARGUMENT, "index=2");
  assert_fails(htone_state_dict_set_text(read, "one", "\xff"), HTONE_ERROR_INVALID_ARGUMENT, "value is no UTF-8");
  assert_fails(htone_state_dict_set_text(read, "", "x"), HTONE_ERROR_INVALID_ARGUMENT, "key is empty");
}

/* A text of a file may hold a zero byte, which C strings cannot. */
static void a_text_with_a_zero_byte_tells_its_whole_length(void** state) {
  (void)state;
  static const char header[] = "{\"__metadata__\":{\"k\":\"a\\u0000b\"}}     ";
  unsigned char bytes[8 + sizeof header - 1] = {sizeof header - 1};
  char text[8];
  size_t length = 0;
  memcpy(bytes + 8, header, sizeof header - 1);
  assert_ok(htone_state_dict_text(loaded(bytes, sizeof bytes), "k", text, sizeof text, &length));
  assert_int_equal(length, 3);
  assert_memory_equal(text, "a\0b", 4);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_in_memory_holds_every_tensor),
      cmocka_unit_test(memory_and_disk_have_the_same_bytes),
      cmocka_unit_test(memory_too_small_is_not_written),
      cmocka_unit_test(bytes_that_are_no_file_are_refused),
      cmocka_unit_test(an_open_file_lists_its_tensors_and_reads_one),
      cmocka_unit_test(an_open_file_stays_readable_when_it_is_removed),
      cmocka_unit_test(a_module_loads_from_an_open_file),
      cmocka_unit_test(a_checkpoint_saves_an_open_file_but_does_not_write_it),
      cmocka_unit_test(texts_are_kept_in_order_and_replaced_by_key),
      cmocka_unit_test(a_text_with_a_zero_byte_tells_its_whole_length),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
