/* Careless additions to a checkpoint: names that no file can hold, empty parts, tensors over read-only memory, averages
 * while they are swapped out. Test names begin with their rows of tests/faults.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test_modules.h"

static htone_checkpoint* open_checkpoint(void) {
  char path[512];
  htone_checkpoint* checkpoint = NULL;
  snprintf(path, sizeof path, "%s/run", test_folder());
  assert_ok(htone_checkpoint_create(test_context(), path, &checkpoint));
  return checkpoint;
}

static htone_state_dict* make_dict(const char* name, htone_tensor* tensor) {
  htone_state_dict* dict = NULL;
  assert_ok(htone_state_dict_create(&dict));
  keep_state_dict(dict);
  if (tensor != NULL) assert_ok(htone_state_dict_add(dict, name, tensor));
  return dict;
}

static htone_tensor* make_ones(int64_t count) {
  htone_tensor* ones = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, &count, 1, &ones));
  return keep_tensor(ones);
}

static void a24_a_part_has_a_name_that_a_file_can_hold(void** state) {
  (void)state;
  static char long_name[512 * 1024 + 1];
  memset(long_name, 'x', sizeof long_name - 1);
  htone_checkpoint* checkpoint = open_checkpoint();
  htone_state_dict* dict = make_dict("values", make_ones(2));
  static const char* const names[] = {"\xff", "two\nlines", "\x7f", long_name};
  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    assert_fails(htone_checkpoint_add_state_dict(checkpoint, names[i], dict), HTONE_ERROR_INVALID_ARGUMENT, "name");
  }
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "\xc3\xa4", dict));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* A module without parameters, and a state dict that is still empty. */
static void parts_that_have_nothing_are_saved_and_loaded(void** state) {
  (void)state;
  int64_t step = -1;
  htone_module* relu = NULL;
  htone_checkpoint* checkpoint = open_checkpoint();
  htone_state_dict* dict = make_dict("", NULL);
  assert_ok(htone_module_create_relu(&relu));
  assert_ok(htone_checkpoint_add_module(checkpoint, "relu", keep_module(relu)));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "own", dict));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_true(step == 1);
  assert_ok(htone_state_dict_add(dict, "later", make_ones(2)));
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "no part own");
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* Saves a part "first" with one tensor beside the given one, changes the first, and returns the status of a load. If
 * the load fails, the first must keep the change. */
static htone_status load_beside(htone_tensor* tensor) {
  int64_t step = -1;
  htone_tensor* first = make_ones(2);
  htone_checkpoint* checkpoint = open_checkpoint();
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "first", make_dict("values", first)));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "second", make_dict("values", tensor)));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_tensor_write(first, HTONE_F32, (const float[]){5, 6}, 2 * sizeof(float)));
  const htone_status status = htone_checkpoint_load(checkpoint, &step);
  if (status != HTONE_OK) assert_values(first, 0, 5, 6);
  assert_ok(htone_checkpoint_release(checkpoint));
  return status;
}

static void a14_a_load_into_elements_that_overlap_is_refused_and_changes_nothing(void** state) {
  (void)state;
  const int64_t shape[] = {4};
  htone_tensor* wide = NULL;
  assert_ok(htone_broadcast_to(make_ones(1), 1, shape, &wide));
  keep_tensor(wide);
  assert_int_equal(load_beside(wide), HTONE_ERROR_STATE);
}

/* The page is read-only: a write would kill the process. */
static void a14_a_load_into_memory_that_is_read_only_is_refused_and_changes_nothing(void** state) {
  (void)state;
  const int64_t shape[] = {4}, strides[] = {0};
  float* page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(page != MAP_FAILED);
  htone_tensor* constant = NULL;
  assert_ok(htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 1, shape, strides, page, NULL, NULL, &constant));
  assert_int_equal(load_beside(constant), HTONE_ERROR_STATE);
  assert_ok(htone_tensor_release(constant));
  munmap(page, 4096);
}

static htone_ema* make_averages(htone_module* module) {
  htone_ema* ema = NULL;
  assert_ok(htone_ema_create(parameters_of_module(module), NULL, &ema));
  return keep_ema(ema);
}

static void averages_swapped_with_the_weights_are_neither_saved_nor_loaded(void** state) {
  (void)state;
  int64_t step = -1;
  htone_module* module = make_linear(test_device(), 2, 2, 0);
  htone_ema* ema = make_averages(module);
  htone_checkpoint* checkpoint = open_checkpoint();
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", module));
  assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", ema));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_tensor_fill(weights_of(module, 0), 3));
  assert_ok(htone_ema_swap(ema));
  assert_fails(htone_checkpoint_save(checkpoint, 2), HTONE_ERROR_STATE, "swap");
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_STATE, "swap");
  assert_ok(htone_checkpoint_latest(checkpoint, &step));
  assert_true(step == 1);
  assert_ok(htone_ema_swap(ema));
  assert_values(weights_of(module, 0), 0, 3, 3, 3, 3);
  assert_ok(htone_checkpoint_save(checkpoint, 2));
  assert_ok(htone_checkpoint_release(checkpoint));
}

static void averages_of_running_statistics_are_saved_and_loaded(void** state) {
  (void)state;
  htone_module* module = NULL;
  htone_tensor* mean = NULL;
  htone_ema* ema = NULL;
  int64_t step = -1;
  assert_ok(htone_module_create_batch_norm1d(test_device(), 2, NULL, &module));
  assert_ok(htone_module_buffer(keep_module(module), 0, &mean));
  keep_tensor(mean);
  assert_ok(htone_tensor_fill(mean, 5));
  assert_ok(htone_ema_create_from_module(module, NULL, &ema));
  keep_ema(ema);
  htone_checkpoint* checkpoint = open_checkpoint();
  assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", ema));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_tensor_fill(mean, 9));
  assert_ok(htone_ema_update(ema));
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_ok(htone_ema_swap(ema));
  assert_values(mean, 0, 5, 5);
  assert_ok(htone_ema_swap(ema));
  assert_values(mean, 0, 9, 9);
  assert_ok(htone_checkpoint_release(checkpoint));
  /* A checkpoint of the parameters alone lacks them. */
  checkpoint = open_checkpoint();
  assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", make_averages(module)));
  assert_ok(htone_checkpoint_save(checkpoint, 2));
  assert_ok(htone_checkpoint_release(checkpoint));
  checkpoint = open_checkpoint();
  assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", ema));
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "buffer.running_mean is missing");
  assert_ok(htone_checkpoint_release(checkpoint));
}

static void averages_of_other_parameters_are_refused_and_nothing_changes(void** state) {
  (void)state;
  int64_t step = -1;
  htone_checkpoint* checkpoint = open_checkpoint();
  assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", make_averages(make_linear(test_device(), 2, 2, 0))));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_release(checkpoint));
  htone_module* others[] = {make_linear(test_device(), 2, 2, 1), make_linear(test_device(), 2, 3, 0)};
  for (size_t i = 0; i < COUNT_OF(others); ++i) {
    htone_tensor* averages = NULL;
    assert_ok(htone_tensor_fill(weights_of(others[i], 0), 3));
    htone_ema* ema = make_averages(others[i]);
    checkpoint = open_checkpoint();
    assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", ema));
    assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "averages");
    assert_ok(htone_ema_read(ema, 0, &averages));
    double* values = values_of(keep_tensor(averages));
    for (int element = 0; element < 4; ++element) assert_true(values[element] == 3);
    free(values);
    assert_ok(htone_checkpoint_release(checkpoint));
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a24_a_part_has_a_name_that_a_file_can_hold),
      cmocka_unit_test(parts_that_have_nothing_are_saved_and_loaded),
      cmocka_unit_test(a14_a_load_into_elements_that_overlap_is_refused_and_changes_nothing),
      cmocka_unit_test(a14_a_load_into_memory_that_is_read_only_is_refused_and_changes_nothing),
      cmocka_unit_test(averages_swapped_with_the_weights_are_neither_saved_nor_loaded),
      cmocka_unit_test(averages_of_running_statistics_are_saved_and_loaded),
      cmocka_unit_test(averages_of_other_parameters_are_refused_and_nothing_changes),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
