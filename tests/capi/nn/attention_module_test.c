/* Attention modules against attention of single operations: groups of heads, rotation, masks; wrong arguments. */
#include <math.h>
#include <stdlib.h>

#include "plain_attention.h"

static htone_module* make_attention(int64_t width, int64_t heads, int64_t kv_heads, int32_t causal) {
  htone_multihead_attention_options options = HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT;
  htone_module* module = NULL;
  options.kv_heads = kv_heads;
  options.causal = causal;
  options.dtype = HTONE_F64;
  assert_ok(htone_module_create_multihead_attention(test_device(), width, heads, &options, &module));
  return keep_module(module);
}

static void self_attention_equals_single_operations(void** state) {
  (void)state;
  for (int kv_heads = 1; kv_heads <= 4; kv_heads *= 2) {
    for (int causal = 0; causal < 2; ++causal) {
      htone_module* module = make_attention(8, 4, kv_heads, causal);
      fill_parameters(module);
      htone_tensor* x = leaf(make_noise(HTONE_F64, 1, 3, 2, 5, 8));
      htone_tensor* expected = plain_attention(module, "", x, x, 4, kv_heads, causal ? later_keys(5, 5) : NULL);
      assert_same_net(module, forward(module, x), expected, 1, &x);
    }
  }
}

static void attention_to_another_sequence_equals_single_operations(void** state) {
  (void)state;
  htone_module* module = make_attention(8, 2, 1, 0);
  fill_parameters(module);
  htone_tensor* inputs[] = {leaf(make_noise(HTONE_F64, 1, 3, 2, 3, 8)), leaf(make_noise(HTONE_F64, 2, 3, 2, 5, 8))};
  htone_tensor* expected = plain_attention(module, "", inputs[0], inputs[1], 2, 1, NULL);
  assert_same_net(module, forward_several(module, 2, inputs), expected, 2, inputs);
  htone_tensor* with_value[] = {inputs[0], inputs[1], inputs[1]};
  assert_tensors_near(forward_several(module, 3, with_value), expected, 1e-12);
}

static void rotary_attention_equals_single_operations(void** state) {
  (void)state;
  for (int interleaved = 0; interleaved < 2; ++interleaved) {
    htone_multihead_attention_options options = HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT;
    htone_rotary_options rotary = HTONE_ROTARY_OPTIONS_INIT;
    htone_module* module = NULL;
    options.kv_heads = 1;
    options.causal = options.rotary = 1;
    options.dtype = HTONE_F64;
    options.rotary_interleaved = rotary.interleaved = interleaved;
    options.rotary_base = rotary.base = 7;
    assert_ok(htone_module_create_multihead_attention(test_device(), 8, 2, &options, &module));
    fill_parameters(keep_module(module));
    htone_tensor* x = leaf(make_noise(HTONE_F64, 1, 3, 2, 5, 8));
    htone_tensor* expected = rotary_attention(module, "", x, x, 2, 1, later_keys(5, 5), &rotary);
    assert_same_net(module, forward(module, x), expected, 1, &x);
  }
}

static void a_mask_hides_keys(void** state) {
  (void)state;
  htone_module* module = make_attention(8, 2, 2, 0);
  fill_parameters(module);
  htone_tensor* x = make_noise(HTONE_F64, 1, 3, 1, 4, 8);
  htone_tensor* shown = make_tensor(HTONE_BOOL, (const double[]){1, 1, 0, 1}, 4, 1, 1, 1, 4);
  htone_tensor* hidden = make_tensor(HTONE_BOOL, (const double[]){0, 0, 1, 0}, 2, 1, 4);
  htone_tensor* inputs[] = {x, NULL, NULL, shown};
  assert_tensors_near(forward_several(module, 4, inputs), plain_attention(module, "", x, x, 2, 2, hidden), 1e-10);
}

static void a_learned_mask_gets_one_gradient_with_and_without_recompute(void** state) {
  (void)state;
  htone_module* module = make_attention(8, 2, 2, 0);
  fill_parameters(module);
  double* gradients[2];
  for (int recompute = 0; recompute < 2; ++recompute) {
    htone_tensor* bias = leaf(make_noise(HTONE_F32, 2, 3, 2, 4, 4));
    htone_tensor* inputs[] = {make_noise(HTONE_F64, 1, 3, 3, 4, 8), NULL, NULL, bias};
    assert_ok(htone_module_set_recompute(module, recompute));
    htone_tensor* out = forward_several(module, 4, inputs);
    backward(sum_of(apply2(htone_mul, out, out)));
    gradients[recompute] = values_of(grad_of(bias));
  }
  assert_true(fabs(gradients[0][0]) > 1e-6);
  assert_memory_equal(gradients[0], gradients[1], 2 * 4 * 4 * sizeof(double));
  free(gradients[0]);
  free(gradients[1]);
}

static void wrong_sizes_and_inputs_are_named(void** state) {
  (void)state;
  htone_module *attention = make_attention(8, 2, 2, 0), *none = NULL;
  htone_tensor *x = make_noise(HTONE_F64, 1, 3, 2, 3, 8), *two[] = {x, make_noise(HTONE_F64, 1, 3, 1, 3, 8)};
  assert_refuses(htone_module_forward(attention, make_noise(HTONE_F64, 1, 3, 2, 3, 7), NULL, &out), SHAPE_MISMATCH,
                 "query [2, 3, 7], expected [batch, time, 8]");
  assert_refuses(htone_module_forward_n(attention, 2, two, NULL, 1, &out), SHAPE_MISMATCH, "key [1, 3, 8]");
  assert_refuses(htone_module_forward_n(attention, 3, (htone_tensor*[]){x, x, make_noise(HTONE_F64, 1, 3, 2, 4, 8)},
                                        NULL, 1, &out),
                 SHAPE_MISMATCH, "value [2, 4, 8] has another time than key [2, 3, 8]");
  assert_fails(htone_module_create_multihead_attention(test_device(), 8, 3, NULL, &none), HTONE_ERROR_INVALID_ARGUMENT,
               "heads=3 does not divide width=8");
  assert_null(none);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(self_attention_equals_single_operations),
      cmocka_unit_test(attention_to_another_sequence_equals_single_operations),
      cmocka_unit_test(rotary_attention_equals_single_operations),
      cmocka_unit_test(a_mask_hides_keys),
      cmocka_unit_test(a_learned_mask_gets_one_gradient_with_and_without_recompute),
      cmocka_unit_test(wrong_sizes_and_inputs_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
