/* Parameters over the host's own arrays, and gradients that the host brings: what the step writes, what it never does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

enum { kSize = 4 };

/* What a host owns: weights, and gradients in whatever dtype. */
typedef struct Host {
  float weights[kSize];
  float gradient[kSize];
  uint16_t half_gradient[kSize];
  int deletions;
} Host;

static const uint16_t kHalfOne = 0x3c00, kHalfTwo = 0x4000, kHalfInfinity = 0x7c00, kBfloatOne = 0x3f80;

static void count_call(void* user) { ++*(int*)user; }

static htone_tensor* over(htone_dtype dtype, void* data) {
  const int64_t shape = kSize;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), dtype, 1, &shape, data, NULL, NULL, &tensor));
  return keep_tensor(tensor);
}

static htone_parameter* parameter_over(const char* name, htone_tensor* tensor) {
  htone_parameter* parameter = NULL;
  assert_ok(htone_parameter_create(name, tensor, &parameter));
  return keep_parameter(parameter);
}

static htone_parameter* host_parameter(Host* host) { return parameter_over("host", over(HTONE_F32, host->weights)); }

static htone_parameters* set_of(htone_parameter* parameter) {
  htone_parameters* set = NULL;
  assert_ok(htone_parameters_create(&set));
  keep_parameters(set);
  assert_ok(htone_parameters_add(set, parameter));
  return set;
}

/* Plain SGD of rate 1: the update subtracts the gradient. */
static htone_optimizer* sgd_over(htone_parameters* set, htone_dtype compute_dtype) {
  htone_sgd_options options;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_sgd_options_init(&options));
  options.lr = 1;
  options.compute_dtype = compute_dtype;
  assert_ok(htone_optimizer_create_sgd_over(set, &options, &optimizer));
  return keep_optimizer(optimizer);
}

static htone_optimizer* sgd(htone_parameter* parameter) { return sgd_over(set_of(parameter), HTONE_F32); }

static htone_tensor* leaf_of(htone_parameter* parameter) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_parameter_tensor(parameter, &tensor));
  return keep_tensor(tensor);
}

static htone_tensor* read_as(htone_parameter* parameter, htone_dtype dtype) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_parameter_read(parameter, dtype, &tensor));
  return keep_tensor(tensor);
}

static void assert_floats(const float* actual, float a, float b, float c, float d) {
  const float expected[kSize] = {a, b, c, d};
  for (int i = 0; i < kSize; ++i) assert_near(actual[i], expected[i], 0);
}

static void a_step_writes_the_hosts_weights_in_place(void** state) {
  (void)state;
  static Host host = {.weights = {10, 20, 30, 40}, .gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd(parameter);
  void* address = NULL;
  assert_ok(htone_tensor_data(leaf_of(parameter), &address));
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
  htone_parameter* parameter = parameter_over("large", keep_tensor(tensor));
  htone_optimizer* optimizer = sgd(parameter);
  assert_ok(htone_parameter_set_grad(parameter, grad));
  assert_ok(htone_optimizer_step(optimizer));
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_true(stats.peak < kMany);
}

static void a_gradient_rewritten_in_place_is_handed_in_once(void** state) {
  (void)state;
  static Host host = {.weights = {0, 0, 0, 0}, .gradient = {1, 1, 1, 1}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd(parameter);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  for (int i = 0; i < kSize; ++i) host.gradient[i] = (float)i;
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -1, -2, -3, -4);
}

static void gradients_of_16_bits_are_read_as_they_are(void** state) {
  (void)state;
  static Host host = {.weights = {0, 0, 0, 0}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd(parameter);
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = i % 2 == 0 ? kHalfOne : kHalfTwo;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F16, host.half_gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -1, -2, -1, -2);
  /* The same address in another dtype. */
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = kBfloatOne;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_BF16, host.half_gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -2, -3, -2, -3);
  /* Another address. */
  for (int i = 0; i < kSize; ++i) host.gradient[i] = 0.5f;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -2.5f, -3.5f, -2.5f, -3.5f);
}

static void a_gradient_is_kept_until_it_is_replaced_or_zeroed(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 1, 1, 1}};
  const int64_t shape = kSize;
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd(parameter);
  for (int i = 0; i < 2; ++i) {
    htone_tensor* gradient = NULL;
    assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, host.gradient, count_call, &host.deletions,
                                       &gradient));
    assert_ok(htone_parameter_set_grad(parameter, gradient));
    assert_ok(htone_tensor_release(gradient));
    assert_int_equal(host.deletions, i); /* the one before went */
  }
  assert_ok(htone_optimizer_step(optimizer));
  assert_int_equal(host.deletions, 1);
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_int_equal(host.deletions, 2);
  assert_fails(htone_optimizer_step(optimizer), HTONE_STATE, "no parameter has a gradient");
}

static void a_gradient_is_seen_by_clipping_and_norms_and_never_written(void** state) {
  (void)state;
  static Host host = {.gradient = {3, 0, 4, 0}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd(parameter);
  double norm = 0;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_grad_norm(optimizer, &norm));
  assert_near(norm, 5, 1e-6);
  assert_ok(htone_optimizer_clip_grad_norm(optimizer, 1));
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(host.weights[0], -0.6, 1e-6);
  assert_near(host.weights[2], -0.8, 1e-6);
  assert_ok(htone_optimizer_set_clip_value(optimizer, 0.5));
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(host.weights[0], -1.1, 1e-6);
  assert_floats(host.gradient, 3, 0, 4, 0);
}

static void an_infinite_gradient_of_the_hosts_skips_the_step(void** state) {
  (void)state;
  static Host host = {.weights = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd(parameter);
  htone_grad_scaler* scaler = NULL;
  htone_step_outcome outcome = {.struct_size = sizeof outcome};
  double scale = 0;
  assert_ok(htone_grad_scaler_create(test_device(), NULL, &scaler));
  keep_grad_scaler(scaler);
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = i == 2 ? kHalfInfinity : kHalfOne;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F16, host.half_gradient)));
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_grad_scaler_outcome(scaler, optimizer, &outcome));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_true(outcome.skipped == 1 && outcome.kind == HTONE_NOT_FINITE_INFINITY);
  assert_string_equal(outcome.parameter, "host");
  assert_floats(host.weights, 1, 2, 3, 4);
  assert_ok(htone_grad_scaler_get_scale(scaler, &scale));
  assert_near(scale, 32768, 0);
  /* What is finite is divided by the scale that the host multiplied by. */
  host.half_gradient[2] = kHalfOne;
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_near(host.weights[2], 3 - 1.0 / 32768, 1e-9);
}

static void gradients_are_added_in_memory_of_the_librarys_own(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_tensor *gradient = over(HTONE_F32, host.gradient), *half = over(HTONE_F16, host.half_gradient);
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = kHalfTwo;
  assert_ok(htone_parameter_accumulate_grad(parameter, gradient));
  assert_ok(htone_parameter_accumulate_grad(parameter, half));
  assert_values(grad_of(leaf_of(parameter)), 0, 3, 4, 5, 6);
  /* A gradient that was set is added to in a copy. */
  assert_ok(htone_parameter_set_grad(parameter, half));
  assert_ok(htone_parameter_accumulate_grad(parameter, gradient));
  assert_values(grad_of(leaf_of(parameter)), 0, 3, 4, 5, 6);
  assert_true(host.half_gradient[0] == kHalfTwo && host.half_gradient[3] == kHalfTwo);
  assert_floats(host.gradient, 1, 2, 3, 4);
  /* The leaf's own gradient may be handed back. */
  assert_ok(htone_parameter_accumulate_grad(parameter, grad_of(leaf_of(parameter))));
  assert_ok(htone_parameter_set_grad(parameter, grad_of(leaf_of(parameter))));
  assert_ok(htone_parameter_accumulate_grad(parameter, gradient));
  assert_values(grad_of(leaf_of(parameter)), 0, 7, 10, 13, 16);
}

static void backward_adds_to_a_gradient_that_was_set_without_writing_it(void** state) {
  (void)state;
  static Host host = {.weights = {1, 1, 1, 1}, .gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_tensor* weights = leaf_of(parameter);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  backward(sum_of(apply2(htone_mul, weights, make_scalar(HTONE_F32, 10))));
  assert_values(grad_of(weights), 0, 11, 12, 13, 14);
  assert_floats(host.gradient, 1, 2, 3, 4);
  assert_ok(htone_tensor_zero_grad(weights));
  assert_ok(htone_parameter_accumulate_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_values(grad_of(weights), 0, 1, 2, 3, 4);
}

static void a_strided_gradient_counts_in_row_major_order(void** state) {
  (void)state;
  static float weights[6];
  const int64_t shape[] = {2, 3};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 2, shape, weights, NULL, NULL, &tensor));
  htone_parameter* parameter = parameter_over("matrix", keep_tensor(tensor));
  htone_optimizer* optimizer = sgd(parameter);
  assert_ok(htone_parameter_set_grad(parameter, transpose_of(make_ramp(HTONE_F32, 2, 3, 2), 0, 1)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_values(tensor, 0, 0, -2, -4, -1, -3, -5);
}

static void the_low_precision_copy_is_stale_once_the_host_says_that_it_wrote(void** state) {
  (void)state;
  static Host host = {.weights = {1, 2, 3, 4}, .gradient = {1, 1, 1, 1}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = sgd_over(set_of(parameter), HTONE_F16);
  htone_tensor *weights = leaf_of(parameter), *loss = sum_of(apply2(htone_mul, weights, weights));
  host.weights[0] = 100;
  assert_values(read_as(parameter, HTONE_F16), 0, 1, 2, 3, 4);
  assert_ok(htone_tensor_mark_written(weights));
  assert_values(read_as(parameter, HTONE_F16), 0, 100, 2, 3, 4);
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_STATE, "written after the forward");
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_values(read_as(parameter, HTONE_F16), 0, 99, 1, 2, 3);
}

/* One array of the host's, one tensor over it, and a parameter for each half: a write of either bumps the version that
 * both copies are judged by. */
static void parameters_may_be_pieces_of_one_array(void** state) {
  (void)state;
  static float weights[2 * kSize] = {1, 2, 3, 4, 5, 6, 7, 8};
  static Host host = {.gradient = {1, 1, 1, 1}};
  const int64_t shape = 2 * kSize;
  htone_tensor* whole = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, weights, NULL, NULL, &whole));
  keep_tensor(whole);
  htone_parameter* first = parameter_over("first", slice_of(whole, 0, 0, kSize, 1));
  htone_parameter* second = parameter_over("second", slice_of(whole, 0, kSize, 2 * kSize, 1));
  htone_parameters* set = set_of(first);
  assert_ok(htone_parameters_add(set, second));
  htone_optimizer* optimizer = sgd_over(set, HTONE_BF16);
  assert_ok(htone_parameter_set_grad(first, over(HTONE_F32, host.gradient)));
  assert_ok(htone_parameter_set_grad(second, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  htone_parameter* parameters[] = {first, second};
  for (int i = 0; i < 2; ++i) {
    void *copy = NULL, *again = NULL;
    assert_ok(htone_tensor_data(read_as(parameters[i], HTONE_BF16), &copy));
    assert_ok(htone_tensor_data(read_as(parameters[i], HTONE_BF16), &again));
    assert_ptr_equal(copy, again); /* the kept copy, not a cast */
    assert_values(read_as(parameters[i], HTONE_BF16), 0, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
  }
}

static void weights_of_the_host_are_not_moved_to_another_storage(void** state) {
  (void)state;
  static Host host = {.weights = {1, 2, 3, 4}};
  static const htone_master_storage storages[] = {HTONE_MASTER_SPLIT, HTONE_MASTER_NONE};
  htone_parameters* set = set_of(host_parameter(&host));
  for (size_t i = 0; i < COUNT_OF(storages); ++i) {
    htone_sgd_options options;
    htone_optimizer* optimizer = NULL;
    assert_ok(htone_sgd_options_init(&options));
    options.compute_dtype = HTONE_BF16;
    options.master_storage = storages[i];
    options.grad_dtype = HTONE_BF16;
    assert_fails(htone_optimizer_create_sgd_over(set, &options, &optimizer), HTONE_UNSUPPORTED, "host");
    assert_null(optimizer);
  }
  sgd_over(set, HTONE_BF16); /* it is free */
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
  assert_fails(htone_parameter_create("w", make_ramp(HTONE_F16, 1, 3), &out), HTONE_DTYPE_MISMATCH, "f16");
  assert_fails(htone_parameter_create("w", strided, &out), HTONE_INVALID_ARGUMENT, "row-major");
  assert_fails(htone_parameter_create("w", repeated, &out), HTONE_STATE, "read-only");
  assert_fails(htone_parameter_create("w", leaf(make_ramp(HTONE_F32, 1, 3)), &out), HTONE_STATE, "detach");
  assert_fails(htone_parameter_create("", fine, &out), HTONE_INVALID_ARGUMENT, "name");
  assert_null(out);
}

static void what_cannot_be_a_gradient_is_refused_and_the_one_there_stays(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 2, 3, 4}};
  const int64_t shape = kSize;
  htone_tensor* elsewhere = NULL;
  htone_parameter* parameter = host_parameter(&host);
  assert_ok(htone_tensor_create(make_device(make_context(1, 0)), HTONE_F32, 1, &shape, &elsewhere));
  keep_tensor(elsewhere);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  htone_status (*const functions[])(htone_parameter*, htone_tensor*) = {htone_parameter_set_grad,
                                                                        htone_parameter_accumulate_grad};
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_fails(functions[i](parameter, make_ramp(HTONE_F32, 1, 3)), HTONE_SHAPE_MISMATCH, "[3]");
    assert_fails(functions[i](parameter, make_ramp(HTONE_F32, 2, 1, 4)), HTONE_SHAPE_MISMATCH, "[1, 4]");
    assert_fails(functions[i](parameter, make_ramp(HTONE_F64, 1, 4)), HTONE_DTYPE_MISMATCH, "f64");
    assert_fails(functions[i](parameter, make_ramp(HTONE_I32, 1, 4)), HTONE_DTYPE_MISMATCH, "i32");
    assert_fails(functions[i](parameter, elsewhere), HTONE_DEVICE, "device");
  }
  assert_values(grad_of(leaf_of(parameter)), 0, 1, 2, 3, 4);
}

static void a_frozen_parameter_takes_no_gradient_and_lets_go_of_what_was_brought(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 2, 3, 4}};
  const int64_t shape = kSize;
  htone_parameter* parameter = host_parameter(&host);
  htone_tensor* gradient = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, host.gradient, count_call, &host.deletions,
                                     &gradient));
  assert_ok(htone_parameter_set_grad(parameter, gradient));
  assert_ok(htone_tensor_release(gradient));
  assert_ok(htone_parameter_set_frozen(parameter, 1));
  assert_int_equal(host.deletions, 1);
  assert_fails(htone_parameter_set_grad(parameter, make_ramp(HTONE_F32, 1, 4)), HTONE_STATE, "frozen");
  assert_fails(htone_parameter_accumulate_grad(parameter, make_ramp(HTONE_F32, 1, 4)), HTONE_STATE, "frozen");
}

/* A model of the library's and the same weights over the host's arrays, fed with the same gradients. */
static void host_parameters_train_as_the_librarys_own_do(void** state) {
  (void)state;
  enum { kRows = 37, kColumns = 29, kSteps = 5 };
  static float weights[kRows * kColumns], gradient[kRows * kColumns];
  const int64_t shape[] = {kRows, kColumns};
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor *master = weights_of(module, 0), *tensor = NULL, *grad = NULL;
  htone_optimizer *library = NULL, *host = NULL;
  assert_ok(htone_tensor_read(master, HTONE_F32, weights, sizeof weights));
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 2, shape, weights, NULL, NULL, &tensor));
  htone_parameter* parameter = parameter_over("weights", keep_tensor(tensor));
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 2, shape, gradient, NULL, NULL, &grad));
  keep_tensor(grad);
  assert_ok(htone_optimizer_create_adamw(module, NULL, &library));
  keep_optimizer(library);
  assert_ok(htone_optimizer_create_adamw_over(set_of(parameter), NULL, &host));
  keep_optimizer(host);
  for (uint32_t step = 0; step < kSteps; ++step) {
    assert_ok(htone_optimizer_zero_grad(library));
    htone_tensor* input = make_noise(HTONE_F32, step, 2, 8, kColumns);
    backward(sum_of(apply2(htone_mul, forward(module, input), forward(module, input))));
    assert_ok(htone_tensor_read(grad_of(master), HTONE_F32, gradient, sizeof gradient));
    assert_ok(htone_parameter_set_grad(parameter, grad));
    assert_ok(htone_optimizer_step(library));
    assert_ok(htone_optimizer_step(host));
  }
  void* expected = NULL;
  assert_ok(htone_tensor_data(master, &expected));
  assert_memory_equal(weights, expected, sizeof weights);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_writes_the_hosts_weights_in_place),
      cmocka_unit_test(no_memory_is_taken_for_what_the_host_has),
      cmocka_unit_test(a_gradient_rewritten_in_place_is_handed_in_once),
      cmocka_unit_test(gradients_of_16_bits_are_read_as_they_are),
      cmocka_unit_test(a_gradient_is_kept_until_it_is_replaced_or_zeroed),
      cmocka_unit_test(a_gradient_is_seen_by_clipping_and_norms_and_never_written),
      cmocka_unit_test(an_infinite_gradient_of_the_hosts_skips_the_step),
      cmocka_unit_test(gradients_are_added_in_memory_of_the_librarys_own),
      cmocka_unit_test(backward_adds_to_a_gradient_that_was_set_without_writing_it),
      cmocka_unit_test(a_strided_gradient_counts_in_row_major_order),
      cmocka_unit_test(the_low_precision_copy_is_stale_once_the_host_says_that_it_wrote),
      cmocka_unit_test(parameters_may_be_pieces_of_one_array),
      cmocka_unit_test(weights_of_the_host_are_not_moved_to_another_storage),
      cmocka_unit_test(what_cannot_be_a_parameter_is_refused),
      cmocka_unit_test(what_cannot_be_a_gradient_is_refused_and_the_one_there_stays),
      cmocka_unit_test(a_frozen_parameter_takes_no_gradient_and_lets_go_of_what_was_brought),
      cmocka_unit_test(host_parameters_train_as_the_librarys_own_do),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
