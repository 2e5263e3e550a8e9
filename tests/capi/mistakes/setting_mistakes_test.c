/* Sizes, buffers, devices, options and files that a new user gets wrong. Each call is refused, and its message says
 * which argument or field is wrong, with the expected against the actual value. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_optimizers.h"

static void sizes_that_no_tensor_has_are_refused(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40}, big = INT64_C(1) << 42, negative[] = {-2, 3};
  const int64_t nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  htone_device* device = test_device();
  assert_fails(htone_tensor_create(device, HTONE_F32, 2, huge, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "has more elements than 64 bits can count in bytes");
  assert_fails(htone_tensor_create(device, HTONE_F32, 1, &big, &out), HTONE_ERROR_OUT_OF_MEMORY,
               "requested 17592186044416 bytes, current ");
  assert_fails(htone_tensor_create(device, HTONE_F32, 2, negative, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "shape[0]=-2 is negative");
  assert_fails(htone_tensor_create(device, HTONE_F32, 9, nine, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "ndim=9 is outside [0, 8]");
  assert_fails(htone_tensor_create(device, (htone_dtype)99, 1, nine, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "dtype=99 is no dtype");
  assert_null(out);
}

static void buffers_that_do_not_fit_are_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *tensor = make_ramp(HTONE_F32, 2, 2, 3);
  float data[8] = {0};
  char name[4];
  size_t length = 0;
  const int64_t shape[] = {2, 3}, strides[] = {1, -3};
  assert_fails(htone_tensor_from_buffer(test_device(), HTONE_F32, 2, shape, (char*)data + 1, NULL, NULL, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "is not aligned to the 4 bytes of f32");
  assert_fails(htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 2, shape, strides, data, NULL, NULL, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "strides has the negative stride -3");
  assert_fails(htone_tensor_read(tensor, HTONE_F32, data, 8), HTONE_ERROR_BUFFER_TOO_SMALL,
               "capacity=8, expected at least 24");
  assert_fails(htone_tensor_write(tensor, HTONE_F32, data, 8), HTONE_ERROR_INVALID_ARGUMENT, "size=8, expected 24");
  assert_fails(htone_module_parameter_name(make_linear(test_device(), 2, 2, 1), 0, name, sizeof name, &length),
               HTONE_ERROR_BUFFER_TOO_SMALL, "capacity=4, expected at least 7");
  assert_null(out);
}

static void tensors_that_make_no_parameter_are_refused(void** state) {
  (void)state;
  htone_parameter* out = NULL;
  htone_optimizer* optimizer = NULL;
  assert_fails(htone_parameter_create("w", transpose_of(make_ramp(HTONE_F32, 2, 2, 3), 0, 1), &out),
               HTONE_ERROR_INVALID_ARGUMENT, "tensor is not contiguous in row-major order");
  assert_fails(htone_parameter_create("w", make_ramp(HTONE_BF16, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH,
               "tensor is bf16, expected f32");
  assert_null(out);
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.compute_dtype = HTONE_BF16;
  options.master_storage = HTONE_MASTER_SPLIT;
  htone_parameters* set = make_parameters(make_parameter("pos", make_ramp(HTONE_F32, 1, 8)));
  assert_fails(
      htone_optimizer_create_over(set, &options, &optimizer), HTONE_ERROR_UNSUPPORTED,
      "parameter pos was made over a tensor, whose memory stays its master: expected master_storage full, or a "
      "parameter made by htone_parameter_create_new");
  assert_null(optimizer);
}

static void settings_of_layers_policies_and_samplers_have_bounds(void** state) {
  (void)state;
  htone_module* module = NULL;
  htone_autocast_policy* policy = NULL;
  htone_sampler* sampler = NULL;
  htone_conv_options conv = HTONE_CONV_OPTIONS_INIT;
  htone_linear_options linear = HTONE_LINEAR_OPTIONS_INIT;
  htone_sampler_options order = HTONE_SAMPLER_OPTIONS_INIT;
  conv.stride_h = 0;
  linear.dtype = HTONE_I32;
  assert_fails(htone_module_create_dropout(1.5, &module), HTONE_ERROR_INVALID_ARGUMENT, "p=1.5 is outside [0, 1]");
  assert_fails(htone_module_create_conv2d(test_device(), 1, 1, 3, 3, &conv, &module), HTONE_ERROR_INVALID_ARGUMENT,
               "options.stride_h=0, expected 1 to");
  assert_fails(htone_module_create_linear(test_device(), 2, 2, &linear, &module), HTONE_ERROR_INVALID_ARGUMENT,
               "options.dtype=i32, expected f64, f32, f16 or bf16");
  assert_fails(htone_autocast_policy_create(HTONE_I64, &policy), HTONE_ERROR_INVALID_ARGUMENT,
               "dtype=i64, expected bf16, f16 or f32");
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_fails(htone_autocast_policy_set_class(keep_policy(policy), "matmull", HTONE_AUTOCAST_FP32),
               HTONE_ERROR_INVALID_ARGUMENT, "op=\"matmull\" is no operation that autocast knows");
  assert_fails(htone_sampler_create(&order, &sampler), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=0, expected at least 1");
  order.count = 10;
  order.batch_size = 32;
  order.drop_last = 1;
  assert_fails(htone_sampler_create(&order, &sampler), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=10 gives rank 0 of 1 no batch of 32 samples");
  order.count = INT64_MAX;
  assert_fails(htone_sampler_create(&order, &sampler), HTONE_ERROR_INVALID_ARGUMENT, "options.count=");
  assert_null(sampler);
  assert_null(module);
}

static void batches_need_tensors_of_the_samplers_count(void** state) {
  (void)state;
  htone_sampler_options order = HTONE_SAMPLER_OPTIONS_INIT;
  htone_sampler* sampler = NULL;
  htone_batches* batches = NULL;
  htone_tensor* tensor = make_ramp(HTONE_F32, 2, 2, 3);
  order.count = 10;
  order.batch_size = 2;
  assert_ok(htone_sampler_create(&order, &sampler));
  assert_fails(htone_batches_create(keep_sampler(sampler), 1, &tensor, &batches), HTONE_ERROR_SHAPE_MISMATCH,
               "tensors[0] [2, 3] does not begin with the sampler's count=10");
  assert_null(batches);
}

static const char* path_of(const char* name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

static void write_bytes(const char* name, const void* bytes, size_t size) {
  FILE* file = fopen(path_of(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static void files_that_hold_no_tensors_are_refused(void** state) {
  (void)state;
  htone_state_dict *out = NULL, *saved = NULL;
  htone_device* device = test_device();
  char bytes[4096];
  assert_fails(htone_safetensors_load(device, path_of("nothing"), &out), HTONE_ERROR_IO, "No such file or directory");
  write_bytes("junk", "hello, this is not one at all....", 33);
  assert_fails(htone_safetensors_load(device, path_of("junk"), &out), HTONE_ERROR_FORMAT,
               "is no safetensors file, or was cut off: a header of ");
  write_bytes("empty", "", 0);
  assert_fails(htone_safetensors_load(device, path_of("empty"), &out), HTONE_ERROR_FORMAT, "it has 0 bytes");
  assert_ok(htone_module_state_dict(make_linear(device, 2, 2, 1), &saved));
  keep_state_dict(saved);
  assert_ok(htone_safetensors_save(test_context(), path_of("whole"), saved));
  FILE* file = fopen(path_of("whole"), "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  write_bytes("cut", bytes, size - 10);
  assert_fails(htone_safetensors_load(device, path_of("cut"), &out), HTONE_ERROR_FORMAT,
               "has 14 bytes of data, its tensors 24");
  assert_fails(htone_safetensors_load(device, test_folder(), &out), HTONE_ERROR_IO, "it is no regular file");
  assert_fails(htone_safetensors_save(test_context(), path_of("none/file"), saved), HTONE_ERROR_IO,
               "cannot open the directory");
  assert_null(out);
}

static void states_of_other_models_list_the_differences(void** state) {
  (void)state;
  htone_state_dict *saved = NULL, *other = NULL;
  htone_tensor* out = NULL;
  htone_module *linear = make_linear(test_device(), 7, 2, 1), *layers[] = {make_linear(test_device(), 3, 8, 1)};
  assert_ok(htone_module_state_dict(make_sequential(1, layers), &saved));
  keep_state_dict(saved);
  assert_fails(htone_module_load_state_dict(linear, saved, NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "missing: 2 (weight, bias); unexpected: 2 (0.weight, 0.bias)");
  assert_ok(htone_state_dict_create(&other));
  keep_state_dict(other);
  assert_ok(htone_state_dict_add(other, "weight", make_ramp(HTONE_F32, 2, 3, 4)));
  assert_ok(htone_state_dict_add(other, "bias", make_ramp(HTONE_F32, 1, 2)));
  assert_fails(htone_module_load_state_dict(linear, other, NULL), HTONE_ERROR_SHAPE_MISMATCH,
               "state_dict has other shapes than the module: 1 (weight [3, 4] for [2, 7])");
  assert_fails(htone_state_dict_find(saved, "0.wieght", &out), HTONE_ERROR_INVALID_ARGUMENT,
               "name=\"0.wieght\" is not in the state dict");
}

static void checkpoints_tell_what_is_taken_or_damaged(void** state) {
  (void)state;
  htone_checkpoint *checkpoint = NULL, *second = NULL;
  htone_module* module = make_linear(test_device(), 3, 8, 1);
  assert_fails(htone_checkpoint_create(test_context(), path_of("none/run"), &checkpoint), HTONE_ERROR_IO,
               "cannot make the directory");
  assert_ok(htone_checkpoint_create(test_context(), path_of("run"), &checkpoint));
  assert_fails(htone_checkpoint_create(test_context(), path_of("run"), &second), HTONE_ERROR_STATE,
               "another checkpoint object writes into");
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", module));
  assert_fails(htone_checkpoint_add_module(checkpoint, "model", module), HTONE_ERROR_INVALID_ARGUMENT,
               "name model is another part's already");
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_fails(htone_checkpoint_save(checkpoint, 1), HTONE_ERROR_STATE, "holds the checkpoint of step 1 already");
  assert_fails(htone_checkpoint_verify(checkpoint, 77), HTONE_ERROR_IO, "step-77");
  FILE* file = fopen(path_of("run/step-1/rank-0-of-1.safetensors"), "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, -5, SEEK_END), 0);
  fputc(0x55, file);
  fclose(file);
  assert_fails(htone_checkpoint_verify(checkpoint, 1), HTONE_ERROR_FORMAT,
               "tensor model/bias is damaged: its checksum does not match");
  assert_ok(htone_checkpoint_release(checkpoint));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_that_no_tensor_has_are_refused),
      cmocka_unit_test(buffers_that_do_not_fit_are_refused),
      cmocka_unit_test(tensors_that_make_no_parameter_are_refused),
      cmocka_unit_test(settings_of_layers_policies_and_samplers_have_bounds),
      cmocka_unit_test(batches_need_tensors_of_the_samplers_count),
      cmocka_unit_test(files_that_hold_no_tensors_are_refused),
      cmocka_unit_test(states_of_other_models_list_the_differences),
      cmocka_unit_test(checkpoints_tell_what_is_taken_or_damaged),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
