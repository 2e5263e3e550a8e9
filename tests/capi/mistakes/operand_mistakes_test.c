/* Shapes, dtypes and handles that a new user mixes up. Each call is refused, and its message says which argument is
 * wrong, with the expected against the actual value. */
#include <string.h>

#include "test_optimizers.h"

static htone_tensor* f32(int rows, int columns) { return make_ramp(HTONE_F32, 2, rows, columns); }

static void shapes_that_do_not_fit_are_shown(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  const int64_t shape[] = {4, 5};
  assert_fails(htone_matmul(f32(2, 3), f32(4, 5), &out), HTONE_ERROR_SHAPE_MISMATCH,
               "a.shape[1]=3 differs from b.shape[0]=4 (a [2, 3], b [4, 5])");
  assert_fails(htone_add(f32(2, 3), f32(4, 5), &out), HTONE_ERROR_SHAPE_MISMATCH,
               "a [2, 3] and b [4, 5] do not broadcast: 2 against 4 in dimension 0");
  assert_fails(htone_reshape(f32(2, 3), 2, shape, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "shape [4, 5] does not hold input's 6 elements");
  assert_fails(htone_softmax(f32(2, 3), 5, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim=5 is outside [-2, 2)");
  assert_fails(htone_einsum("ij,jk>ik", f32(2, 3), f32(3, 4), &out), HTONE_ERROR_INVALID_ARGUMENT,
               "equation \"ij,jk>ik\", position 5");
  assert_null(out);
}

static void layers_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  htone_module *relu = NULL, *conv = NULL;
  assert_fails(htone_module_forward(make_linear(test_device(), 7, 2, 1), f32(2, 3), NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input [2, 3] does not end in weight.shape[1]=7");
  assert_ok(htone_module_create_relu(&relu));
  htone_module* layers[] = {make_linear(test_device(), 3, 8, 1), keep_module(relu),
                            make_linear(test_device(), 16, 2, 1)};
  assert_fails(htone_module_forward(make_sequential(3, layers), f32(2, 3), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "layer 2 (linear): input [2, 8] does not end in weight.shape[1]=16");
  assert_ok(htone_module_create_conv2d(test_device(), 1, 4, 3, 3, NULL, &conv));
  assert_fails(htone_module_forward(keep_module(conv), make_ramp(HTONE_F32, 4, 1, 3, 8, 8), NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input.shape[1]=3 differs from the 1 channels of weight [4, 1, 3, 3]");
  assert_null(out);
}

static void dtypes_that_do_not_fit_say_what_helps(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  assert_fails(htone_matmul(f32(2, 3), make_ramp(HTONE_BF16, 2, 3, 4), &out), HTONE_ERROR_DTYPE_MISMATCH,
               "a is f32 and b is bf16; expected one dtype: cast one, or compute in an autocast scope");
  assert_fails(htone_matmul(make_ramp(HTONE_I64, 2, 2, 3), f32(3, 4), &out), HTONE_ERROR_DTYPE_MISMATCH,
               "a is i64, expected f64, f32, f16 or bf16");
  assert_fails(htone_softmax(make_ramp(HTONE_I64, 2, 2, 3), -1, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "input is i64, expected f64, f32, f16 or bf16");
  assert_fails(htone_tensor_set_requires_grad(make_ramp(HTONE_I64, 1, 4), 1), HTONE_ERROR_DTYPE_MISMATCH,
               "tensor is i64, expected f64, f32, f16 or bf16 for a gradient");
  assert_null(out);
}

static void targets_of_a_loss_must_be_classes(void** state) {
  (void)state;
  htone_tensor *out = NULL, *logits = f32(4, 2);
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 1, 0, 7}, 1, 4);
  assert_fails(htone_cross_entropy(logits, targets, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "targets[3]=7 is outside [0, 2)");
  assert_fails(htone_cross_entropy(logits, cast_of(targets, HTONE_F32), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "targets [4], probabilities of classes, differs from logits [4, 2]");
  assert_fails(htone_cross_entropy(logits, cast_of(targets, HTONE_I32), NULL, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "targets[3]=7 is outside [0, 2)");
  assert_fails(htone_cross_entropy(logits, cast_of(targets, HTONE_I16), NULL, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "targets is i16, expected i64 or i32");
  assert_fails(htone_cross_entropy(make_ramp(HTONE_F32, 3, 2, 2, 2), targets, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "targets [4] does not fit logits [2, 2, 2]: expected [2, 2]");
  assert_null(out);
}

static void indices_of_an_embedding_must_be_rows(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  htone_module* embedding = NULL;
  assert_ok(htone_module_create_embedding(test_device(), 5, 4, NULL, &embedding));
  keep_module(embedding);
  assert_fails(htone_module_forward(embedding, make_tensor(HTONE_I64, (const double[]){0, 7}, 1, 2), NULL, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "indices[1]=7 is outside [0, 5)");
  assert_fails(htone_module_forward(embedding, f32(2, 3), NULL, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "indices is f32, expected i64 or i32");
  assert_null(out);
}

static void a_list_tells_the_place_of_a_wrong_handle(void** state) {
  (void)state;
  htone_tensor *out = NULL, *list[] = {f32(2, 3), NULL, f32(2, 3)};
  assert_fails(htone_cat(3, list, 0, &out), HTONE_ERROR_INVALID_HANDLE, "tensors[1] is NULL, expected a tensor");
  list[1] = (htone_tensor*)make_linear(test_device(), 1, 1, 1);
  assert_fails(htone_cat(3, list, 0, &out), HTONE_ERROR_INVALID_HANDLE, "tensors[1] is a module, expected a tensor");
  assert_null(out);
}

static void options_of_another_type_are_noticed(void** state) {
  (void)state;
  htone_optimizer* out = NULL;
  htone_module* module = make_linear(test_device(), 2, 2, 1);
  htone_optimizer_options options;
  memset(&options, 0, sizeof options);
  assert_fails(htone_optimizer_create(module, &options, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.struct_size=0; fill options with the type's _init function");
  memset(&options, 0xaa, sizeof options);
  assert_fails(htone_optimizer_create(module, &options, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.struct_size=2863311530; fill options");
  const htone_conv_options conv = HTONE_CONV_OPTIONS_INIT;
  assert_fails(htone_optimizer_create(module, (const htone_optimizer_options*)(const void*)&conv, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "options.epsilon=0, expected a finite number above 0 in FP32");
  htone_memory_stats stats = {0};
  assert_fails(htone_device_memory_stats(test_device(), &stats), HTONE_ERROR_INVALID_ARGUMENT,
               "out_stats.struct_size=0, expected sizeof of the structure");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_that_do_not_fit_are_shown),
      cmocka_unit_test(layers_that_do_not_fit_are_named),
      cmocka_unit_test(dtypes_that_do_not_fit_say_what_helps),
      cmocka_unit_test(targets_of_a_loss_must_be_classes),
      cmocka_unit_test(indices_of_an_embedding_must_be_rows),
      cmocka_unit_test(a_list_tells_the_place_of_a_wrong_handle),
      cmocka_unit_test(options_of_another_type_are_noticed),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
