/* Callbacks that release the last reference to the object whose call runs them. The call keeps the object alive and
 * ends as usual. A31. */
#include <stdio.h>

#include "test_io.h"
#include "test_modules.h"

/* The objects that a callback releases, once. */
typedef struct Victim {
  htone_module* module;
  htone_tensor* tensors[2];
  htone_optimizer* optimizer;
  htone_schedule* schedule;
  htone_checkpoint* checkpoint;
  htone_state_dict* dict;
  htone_device* device;
} Victim;

/* Static: callbacks may outlive a test's body. */
static Victim victim;

static void give_back(void) {
  const Victim given = victim;
  victim = (Victim){NULL};
  htone_module_release(given.module);
  for (size_t i = 0; i < COUNT_OF(given.tensors); ++i) htone_tensor_release(given.tensors[i]);
  htone_optimizer_release(given.optimizer);
  htone_schedule_release(given.schedule);
  htone_checkpoint_release(given.checkpoint);
  htone_state_dict_release(given.dict);
  htone_device_release(given.device);
}

static htone_tensor* loose_ones(int64_t count) {
  htone_tensor* ones = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, &count, 1, &ones));
  return ones;
}

static htone_status before_forward(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module;
  (void)call;
  ;
  (void)user;
  give_back();
  return HTONE_OK;
}

static void a31_a_module_and_its_input_may_go_while_it_runs(void** state) {
  (void)state;
  htone_module *relu = NULL, *model = NULL;
  htone_hook* hook = NULL;
  htone_tensor *input = loose_ones(3), *output = NULL;
  assert_ok(htone_module_create_relu(&relu));
  assert_ok(htone_module_create_sequential(1, &relu, &model));
  assert_ok(htone_module_release(relu));
  assert_ok(htone_module_add_forward_pre_hook(model, before_forward, NULL, NULL, &hook));
  assert_ok(htone_hook_release(hook));
  victim = (Victim){.module = model, .tensors = {input}};
  assert_ok(htone_module_forward(model, input, NULL, &output));
  assert_values(keep_tensor(output), 0, 1, 1, 1);
  assert_fails(htone_module_release(model), HTONE_ERROR_INVALID_HANDLE, "module");
}

static htone_status on_gradient(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  (void)gradient;
  (void)out_gradient;
  (void)user;
  give_back();
  return HTONE_OK;
}

static void a31_a_loss_and_its_leaf_may_go_while_backward_runs(void** state) {
  (void)state;
  htone_tensor *leaf = loose_ones(3), *loss = NULL;
  htone_hook* hook = NULL;
  assert_ok(htone_tensor_set_requires_grad(leaf, 1));
  assert_ok(htone_sum(leaf, 0, NULL, 0, &loss));
  assert_ok(htone_tensor_add_gradient_hook(leaf, on_gradient, NULL, NULL, &hook));
  assert_ok(htone_hook_release(hook));
  victim = (Victim){.tensors = {leaf, loss}};
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_fails(htone_tensor_release(loss), HTONE_ERROR_INVALID_HANDLE, "tensor");
}

static htone_status factor(int64_t position, double* out_factor, void* user) {
  (void)user;
  give_back();
  *out_factor = 1.0 + (double)position;
  return HTONE_OK;
}

static htone_schedule* make_schedule(void) {
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_callback(factor, NULL, NULL, &schedule));
  return schedule;
}

static htone_optimizer* make_optimizer(htone_module* module) {
  htone_optimizer* optimizer = NULL;
  htone_schedule* schedule = make_schedule();
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  assert_ok(htone_optimizer_create(module, &options, &optimizer));
  assert_ok(htone_optimizer_set_schedule(optimizer, schedule));
  assert_ok(htone_schedule_release(schedule));
  return optimizer;
}

static void a31_an_optimizer_or_a_schedule_may_go_while_the_factor_is_asked_for(void** state) {
  (void)state;
  double value = 0;
  htone_module* linear = NULL;
  htone_tensor *out = NULL, *input = keep_tensor(loose_ones(2));
  victim = (Victim){.schedule = make_schedule()};
  assert_ok(htone_schedule_factor(victim.schedule, 3, &value));
  assert_true(value == 4);
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &linear));
  keep_module(linear);
  victim = (Victim){.optimizer = make_optimizer(linear)};
  assert_ok(htone_optimizer_lr(victim.optimizer, &value));
  htone_optimizer* optimizer = make_optimizer(linear);
  const int64_t shape[] = {1, 2};
  htone_tensor *row = NULL, *loss = NULL;
  assert_ok(htone_reshape(input, 2, shape, &row));
  assert_ok(htone_module_forward(linear, keep_tensor(row), NULL, &out));
  assert_ok(htone_sum(keep_tensor(out), 0, NULL, 0, &loss));
  assert_ok(htone_tensor_backward(keep_tensor(loss), NULL, 0));
  victim = (Victim){.optimizer = optimizer};
  assert_ok(htone_optimizer_step(optimizer));
  assert_fails(htone_optimizer_release(optimizer), HTONE_ERROR_INVALID_HANDLE, "optimizer");
}

/* User data of a schedule, and the optimizer whose schedule its callback replaces. */
typedef struct Replaced {
  htone_optimizer* optimizer;
  int is_gone;
} Replaced;

static void mark_gone(void* user) { ((Replaced*)user)->is_gone = 1; }

static htone_status replace_schedule(int64_t position, double* out_factor, void* user) {
  Replaced* replaced = user;
  htone_schedule* constant = NULL;
  (void)position;
  assert_ok(htone_schedule_create_constant(&constant));
  assert_ok(htone_optimizer_set_schedule(replaced->optimizer, constant));
  assert_ok(htone_schedule_release(constant));
  *out_factor = replaced->is_gone ? 0 : 2;
  return HTONE_OK;
}

static void a31_a_schedule_may_be_replaced_while_the_factor_is_asked_for(void** state) {
  (void)state;
  static Replaced replaced;
  double before = 0, during = 0, after = 0;
  htone_module* linear = NULL;
  htone_schedule* schedule = NULL;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &linear));
  htone_optimizer* optimizer = make_optimizer(keep_module(linear));
  replaced = (Replaced){.optimizer = optimizer};
  assert_ok(htone_schedule_create_callback(replace_schedule, &replaced, mark_gone, &schedule));
  assert_ok(htone_optimizer_lr(optimizer, &before));
  assert_ok(htone_optimizer_set_schedule(optimizer, schedule));
  assert_ok(htone_schedule_release(schedule));
  assert_ok(htone_optimizer_lr(optimizer, &during));
  assert_ok(htone_optimizer_lr(optimizer, &after));
  assert_true(during == 2 * before && after == before);
  assert_true(replaced.is_gone);
  assert_ok(htone_optimizer_release(optimizer));
}

/* Releases the victim at the call that `of_test` names. */
static int64_t at_call(TestIo* io, const char* call) {
  if (io->of_test != NULL && call[0] == *(const char*)io->of_test) give_back();
  return 0;
}

static htone_checkpoint* open_checkpoint(htone_context* context, htone_state_dict* dict) {
  char path[512];
  htone_checkpoint* checkpoint = NULL;
  snprintf(path, sizeof path, "%s/run", test_folder());
  assert_ok(htone_checkpoint_create(context, path, &checkpoint));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "own", dict));
  return checkpoint;
}

static htone_state_dict* loose_dict(void) {
  htone_state_dict* dict = NULL;
  htone_tensor* ones = loose_ones(4);
  assert_ok(htone_state_dict_create(&dict));
  assert_ok(htone_state_dict_add(dict, "ones", ones));
  assert_ok(htone_tensor_release(ones));
  return dict;
}

static void a31_a_checkpoint_may_go_while_it_is_saved_or_loaded(void** state) {
  (void)state;
  static TestIo io;
  int64_t step = 0;
  begin_io(&io, at_call, NULL);
  htone_context* context = make_io_context(&io);
  htone_state_dict* dict = keep_state_dict(loose_dict());
  victim = (Victim){.checkpoint = open_checkpoint(context, dict)};
  io.of_test = "w";
  assert_ok(htone_checkpoint_save(victim.checkpoint, 3));
  victim = (Victim){.checkpoint = open_checkpoint(context, dict)};
  io.of_test = "r";
  assert_ok(htone_checkpoint_load(victim.checkpoint, &step));
  assert_true(step == 3);
  victim = (Victim){NULL};
  victim.checkpoint = open_checkpoint(context, dict); /* the directory is free again */
  io.of_test = "s";
  assert_ok(htone_checkpoint_verify(victim.checkpoint, 3));
  give_back();
}

static void a31_a_state_dict_and_a_device_may_go_while_a_file_is_written_or_read(void** state) {
  (void)state;
  static TestIo io;
  char path[512];
  htone_device* device = NULL;
  htone_state_dict* read = NULL;
  size_t count = 0;
  snprintf(path, sizeof path, "%s/file", test_folder());
  begin_io(&io, at_call, "w");
  htone_context* context = make_io_context(&io);
  victim = (Victim){.dict = loose_dict()};
  assert_ok(htone_safetensors_save(context, path, victim.dict));
  assert_ok(htone_device_create(context, "cpu", &device));
  victim = (Victim){.device = device};
  io.of_test = "r";
  assert_ok(htone_safetensors_load(device, path, &read));
  assert_ok(htone_state_dict_count(keep_state_dict(read), &count));
  assert_int_equal(count, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a31_a_module_and_its_input_may_go_while_it_runs),
      cmocka_unit_test(a31_a_loss_and_its_leaf_may_go_while_backward_runs),
      cmocka_unit_test(a31_an_optimizer_or_a_schedule_may_go_while_the_factor_is_asked_for),
      cmocka_unit_test(a31_a_schedule_may_be_replaced_while_the_factor_is_asked_for),
      cmocka_unit_test(a31_a_checkpoint_may_go_while_it_is_saved_or_loaded),
      cmocka_unit_test(a31_a_state_dict_and_a_device_may_go_while_a_file_is_written_or_read),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
