/* Parameters over the caller's own arrays: how a step writes them, the copies beside them, combinations that are
 * refused. */
#include "host_arrays.h"

static void a_step_writes_the_hosts_weights_in_place(void** state) {
  (void)state;
  static Host host = {.weights = {10, 20, 30, 40}, .gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = descend(parameter);
  void* address = NULL;
  assert_ok(htone_tensor_data(tensor_of(parameter), &address));
  assert_ptr_equal(address, host.weights);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, 9, 18, 27, 36);
  assert_floats(host.gradient, 1, 2, 3, 4);
}

static void no_memory_is_taken_for_what_the_host_has(void** state) {
  (void)state;
  enum { kMany = 10000 };
  static float weights[kMany], gradient[kMany];
  htone_device* device = make_device(make_context(1, 0));
  htone_memory_stats stats = {.struct_size = sizeof stats};
  const int64_t shape = kMany;
  htone_tensor *tensor = NULL, *grad = NULL;
  assert_ok(htone_tensor_from_buffer(device, HTONE_F32, 1, &shape, weights, NULL, NULL, &tensor));
  assert_ok(htone_tensor_from_buffer(device, HTONE_F32, 1, &shape, gradient, NULL, NULL, &grad));
  keep_tensor(grad);
  htone_parameter* parameter = make_parameter("large", keep_tensor(tensor));
  htone_optimizer* optimizer = descend(parameter);
  assert_ok(htone_parameter_set_grad(parameter, grad));
  assert_ok(htone_optimizer_step(optimizer));
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_true(stats.peak < kMany);
}

static void the_low_precision_copy_is_stale_once_the_host_says_that_it_wrote(void** state) {
  (void)state;
  static Host host = {.weights = {1, 2, 3, 4}, .gradient = {1, 1, 1, 1}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer_options options = sgd_options(1);
  options.compute_dtype = HTONE_F16;
  htone_optimizer* optimizer = make_sgd_over(make_parameters(parameter), &options);
  htone_tensor *weights = tensor_of(parameter), *loss = sum_of(apply2(htone_mul, weights, weights));
  host.weights[0] = 100;
  assert_values(read_as(parameter, HTONE_F16), 0, 1, 2, 3, 4);
  assert_ok(htone_tensor_mark_written(weights));
  assert_values(read_as(parameter, HTONE_F16), 0, 100, 2, 3, 4);
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "written after the forward");
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_values(read_as(parameter, HTONE_F16), 0, 99, 1, 2, 3);
}

/* One array of the caller, one tensor over it, and a parameter for each half. A write to either half raises the version
 * that both low-precision copies depend on. */
static void parameters_may_be_pieces_of_one_array(void** state) {
  (void)state;
  static float weights[2 * kSize] = {1, 2, 3, 4, 5, 6, 7, 8};
  static Host host = {.gradient = {1, 1, 1, 1}};
  const int64_t shape = 2 * kSize;
  htone_tensor* whole = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, weights, NULL, NULL, &whole));
  keep_tensor(whole);
  htone_parameter* first = make_parameter("first", slice_of(whole, 0, 0, kSize, 1));
  htone_parameter* second = make_parameter("second", slice_of(whole, 0, kSize, 2 * kSize, 1));
  htone_parameters* set = make_parameters(first);
  assert_ok(htone_parameters_add(set, second));
  htone_optimizer_options options = sgd_options(1);
  options.compute_dtype = HTONE_BF16;
  htone_optimizer* optimizer = make_sgd_over(set, &options);
  assert_ok(htone_parameter_set_grad(first, over(HTONE_F32, host.gradient)));
  assert_ok(htone_parameter_set_grad(second, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  htone_parameter* parameters[] = {first, second};
  for (int i = 0; i < 2; ++i) {
    void *copy = NULL, *again = NULL;
    assert_ok(htone_tensor_data(read_as(parameters[i], HTONE_BF16), &copy));
    assert_ok(htone_tensor_data(read_as(parameters[i], HTONE_BF16), &again));
    assert_ptr_equal(copy, again); /* the stored copy, not a new cast */
    assert_values(read_as(parameters[i], HTONE_BF16), 0, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
  }
}

static void weights_of_the_host_are_not_moved_to_another_storage(void** state) {
  (void)state;
  static Host host = {.weights = {1, 2, 3, 4}};
  static const htone_master_storage storages[] = {HTONE_MASTER_SPLIT, HTONE_MASTER_NONE};
  htone_parameters* set = make_parameters(host_parameter(&host));
  htone_optimizer_options options = sgd_options(1);
  options.compute_dtype = HTONE_BF16;
  for (size_t i = 0; i < COUNT_OF(storages); ++i) {
    htone_optimizer* optimizer = NULL;
    options.master_storage = storages[i];
    options.grad_dtype = HTONE_BF16;
    assert_fails(htone_optimizer_create_over(set, &options, &optimizer), HTONE_ERROR_UNSUPPORTED, "lent");
    assert_null(optimizer);
  }
  options.master_storage = HTONE_MASTER_FULL;
  options.grad_dtype = HTONE_F32;
  make_sgd_over(set, &options); /* the parameter is free again */
}

static void what_cannot_be_a_parameter_is_refused(void** state) {
  (void)state;
  static float weights[6];
  const int64_t shape = 3, every_second = 2, same = 0;
  htone_parameter* out = NULL;
  htone_tensor *strided = NULL, *repeated = NULL, *fine = make_ramp(HTONE_F32, 1, 3);
  assert_ok(htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 1, &shape, &every_second, weights, NULL, NULL,
                                             &strided));
  keep_tensor(strided);
  assert_ok(
      htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 1, &shape, &same, weights, NULL, NULL, &repeated));
  keep_tensor(repeated);
  assert_fails(htone_parameter_create("w", make_ramp(HTONE_F16, 1, 3), &out), HTONE_ERROR_DTYPE_MISMATCH, "f16");
  assert_fails(htone_parameter_create("w", strided, &out), HTONE_ERROR_INVALID_ARGUMENT, "row-major");
  assert_fails(htone_parameter_create("w", repeated, &out), HTONE_ERROR_STATE, "read-only");
  assert_fails(htone_parameter_create("w", leaf(make_ramp(HTONE_F32, 1, 3)), &out), HTONE_ERROR_STATE, "detach");
  assert_fails(htone_parameter_create("", fine, &out), HTONE_ERROR_INVALID_ARGUMENT, "name");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_writes_the_hosts_weights_in_place),
      cmocka_unit_test(no_memory_is_taken_for_what_the_host_has),
      cmocka_unit_test(the_low_precision_copy_is_stale_once_the_host_says_that_it_wrote),
      cmocka_unit_test(parameters_may_be_pieces_of_one_array),
      cmocka_unit_test(weights_of_the_host_are_not_moved_to_another_storage),
      cmocka_unit_test(what_cannot_be_a_parameter_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
