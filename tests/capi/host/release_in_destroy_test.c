/* Destroy callbacks and deleters that release the last reference to the very object whose call sets them off. The call
 * ends as it would have. Without a hold on the object it would go on in freed memory, which AddressSanitizer and
 * valgrind see. A31.
 */
#include "test_tensors.h"

static float buffer[4];

static htone_tensor* loose_full(double value) {
  const int64_t shape[] = {COUNT_OF(buffer)};
  htone_tensor* full = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, shape, value, &full));
  return full;
}

static void release_tensor(void* user) { assert_ok(htone_tensor_release(user)); }

static void release_parameter(void* user) { assert_ok(htone_parameter_release(user)); }

/* Objects that callbacks release and that cannot be their user data. */
static htone_tensor* released_leaf;
static htone_hook* own_hook;
static htone_grad_scaler* scaler;

static void release_leaf_and_parameter(void* user) {
  release_parameter(user);
  assert_ok(htone_tensor_release(released_leaf));
}

static htone_status keep_gradient(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  (void)gradient;
  (void)out_gradient;
  (void)user;
  return HTONE_OK;
}

static void a31_a_tensor_may_go_with_its_hook_when_it_requires_no_gradient(void** state) {
  (void)state;
  htone_tensor* tensor = loose_full(1);
  htone_hook* hook = NULL;
  assert_ok(htone_tensor_set_requires_grad(tensor, 1));
  assert_ok(htone_tensor_add_gradient_hook(tensor, keep_gradient, tensor, release_tensor, &hook));
  assert_ok(htone_hook_release(hook));
  assert_ok(htone_tensor_set_requires_grad(tensor, 0));
  assert_fails(htone_tensor_release(tensor), HTONE_ERROR_INVALID_HANDLE, "tensor");
}

/* A parameter whose gradient is in memory with this deleter, which gets the parameter. */
static htone_parameter* make_parameter(void (*deleter)(void* user)) {
  htone_parameter* parameter = NULL;
  const int64_t shape[] = {COUNT_OF(buffer)};
  htone_tensor *master = loose_full(1), *gradient = NULL;
  assert_ok(htone_parameter_create("weight", master, &parameter));
  assert_ok(htone_tensor_release(master));
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, shape, buffer, deleter, parameter, &gradient));
  assert_ok(htone_parameter_set_grad(parameter, gradient));
  assert_ok(htone_tensor_release(gradient));
  return parameter;
}

static void a31_a_parameter_may_go_with_the_gradient_that_another_replaces(void** state) {
  (void)state;
  htone_parameter* parameter = make_parameter(release_parameter);
  assert_ok(htone_parameter_set_grad(parameter, keep_tensor(loose_full(2))));
  assert_fails(htone_parameter_release(parameter), HTONE_ERROR_INVALID_HANDLE, "parameter");
}

static void a31_a_parameter_may_go_with_its_gradient_when_it_is_frozen(void** state) {
  (void)state;
  htone_parameter* parameter = make_parameter(release_parameter);
  assert_ok(htone_parameter_set_frozen(parameter, 1));
  assert_fails(htone_parameter_release(parameter), HTONE_ERROR_INVALID_HANDLE, "parameter");
}

static void a31_a_parameter_may_go_with_the_gradient_that_another_is_added_to(void** state) {
  (void)state;
  htone_parameter* parameter = make_parameter(release_parameter);
  assert_ok(htone_parameter_accumulate_grad(parameter, keep_tensor(loose_full(2))));
  assert_fails(htone_parameter_release(parameter), HTONE_ERROR_INVALID_HANDLE, "parameter");
}

static void a31_a_leaf_may_go_with_the_gradient_that_is_zeroed(void** state) {
  (void)state;
  htone_parameter* parameter = make_parameter(release_leaf_and_parameter);
  assert_ok(htone_parameter_tensor(parameter, &released_leaf));
  assert_ok(htone_tensor_zero_grad(released_leaf));
  assert_fails(htone_tensor_release(released_leaf), HTONE_ERROR_INVALID_HANDLE, "tensor");
}

static htone_status keep_input(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module;
  (void)call;
  ;
  (void)user;
  return HTONE_OK;
}

static void release_own_hook(void* user) {
  (void)user;
  assert_ok(htone_hook_release(own_hook));
}

static void a31_a_hook_may_go_with_its_user_data_when_it_is_removed(void** state) {
  (void)state;
  htone_module* module = NULL;
  assert_ok(htone_module_create_relu(&module));
  assert_ok(htone_module_add_forward_pre_hook(module, keep_input, NULL, release_own_hook, &own_hook));
  assert_ok(htone_hook_remove(own_hook));
  assert_fails(htone_hook_release(own_hook), HTONE_ERROR_INVALID_HANDLE, "hook");
  assert_ok(htone_module_release(module));
}

static htone_status constant_factor(int64_t position, double* out_factor, void* user) {
  (void)position;
  (void)user;
  *out_factor = 1;
  return HTONE_OK;
}

static void release_scaler(void* user) {
  (void)user;
  assert_ok(htone_grad_scaler_release(scaler));
}

/* An optimizer over one parameter with a gradient. Its schedule releases the scaler when it is destroyed. */
static htone_optimizer* make_optimizer(void) {
  htone_parameter* parameter = NULL;
  htone_parameters* parameters = NULL;
  htone_optimizer* optimizer = NULL;
  htone_schedule* schedule = NULL;
  htone_tensor* master = loose_full(1);
  assert_ok(htone_parameter_create("weight", master, &parameter));
  assert_ok(htone_tensor_release(master));
  assert_ok(htone_parameter_set_grad(parameter, keep_tensor(loose_full(1))));
  assert_ok(htone_parameters_create(&parameters));
  assert_ok(htone_parameters_add(parameters, parameter));
  assert_ok(htone_parameter_release(parameter));
  assert_ok(htone_optimizer_create_over(parameters, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &optimizer));
  assert_ok(htone_parameters_release(parameters));
  assert_ok(htone_schedule_create_callback(constant_factor, NULL, release_scaler, &schedule));
  assert_ok(htone_optimizer_set_schedule(optimizer, schedule));
  assert_ok(htone_schedule_release(schedule));
  return optimizer;
}

static void a31_a_scaler_may_go_with_the_optimizer_that_it_forgets(void** state) {
  (void)state;
  htone_optimizer* optimizer = make_optimizer();
  assert_ok(htone_grad_scaler_create(test_device(), NULL, &scaler));
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_optimizer_release(optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_fails(htone_grad_scaler_release(scaler), HTONE_ERROR_INVALID_HANDLE, "scaler");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a31_a_tensor_may_go_with_its_hook_when_it_requires_no_gradient),
      cmocka_unit_test(a31_a_parameter_may_go_with_the_gradient_that_another_replaces),
      cmocka_unit_test(a31_a_parameter_may_go_with_its_gradient_when_it_is_frozen),
      cmocka_unit_test(a31_a_parameter_may_go_with_the_gradient_that_another_is_added_to),
      cmocka_unit_test(a31_a_leaf_may_go_with_the_gradient_that_is_zeroed),
      cmocka_unit_test(a31_a_hook_may_go_with_its_user_data_when_it_is_removed),
      cmocka_unit_test(a31_a_scaler_may_go_with_the_optimizer_that_it_forgets),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
