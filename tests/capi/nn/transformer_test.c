/* Blocks and whole transformers against the same net of single operations; names; masks; autocast; wrong arguments.
 * gpt_pytorch_test.c compares training with PyTorch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plain_attention.h"

/* Two blocks of width 8 with two heads, in f64 or f32. */
static htone_transformer_options tiny_options(htone_dtype dtype) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = 11;
  options.positions = 6;
  options.layers = 2;
  options.width = 8;
  options.heads = 2;
  options.dtype = dtype;
  return options;
}

static htone_module* make_transformer(const htone_transformer_options* options) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_transformer(test_device(), options, &module));
  return keep_module(module);
}

static htone_module* make_block(const htone_transformer_options* options) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_transformer_block(test_device(), options, &module));
  return keep_module(module);
}

static htone_tensor* norm_of(htone_module* module, const char* name, int is_rms, htone_tensor* x) {
  const int64_t width = 8;
  char weight[64], bias[64];
  htone_tensor* out = NULL;
  snprintf(weight, sizeof weight, "%s.weight", name);
  snprintf(bias, sizeof bias, "%s.bias", name);
  if (is_rms) {
    assert_ok(htone_rms_norm(x, 1, &width, parameter_named(module, weight), 1e-5, &out));
  } else {
    assert_ok(
        htone_layer_norm(x, 1, &width, parameter_named(module, weight), parameter_named(module, bias), 1e-5, &out));
  }
  return keep_tensor(out);
}

static htone_tensor* plain_feed_forward(htone_module* module, htone_feed_forward form, htone_tensor* x) {
  htone_tensor* hidden =
      linear_of(x, parameter_named(module, "mlp.c_fc.weight"), parameter_named(module, "mlp.c_fc.bias"));
  htone_tensor* out = NULL;
  if (form == HTONE_FEED_FORWARD_SWIGLU) {
    htone_tensor* gate =
        linear_of(x, parameter_named(module, "mlp.c_gate.weight"), parameter_named(module, "mlp.c_gate.bias"));
    hidden = apply2(htone_mul, apply1(htone_silu, gate), hidden);
  } else {
    assert_ok(htone_gelu(hidden, form == HTONE_FEED_FORWARD_GELU ? HTONE_GELU_ERF : HTONE_GELU_TANH, &out));
    hidden = keep_tensor(out);
  }
  return linear_of(hidden, parameter_named(module, "mlp.c_proj.weight"), parameter_named(module, "mlp.c_proj.bias"));
}

static void a_block_of_every_form_equals_single_operations(void** state) {
  (void)state;
  for (int form = 0; form < 12; ++form) {
    htone_transformer_options options = tiny_options(HTONE_F64);
    options.feed_forward = (htone_feed_forward)(form % 3);
    options.norm_kind = form / 3 % 2 == 0 ? HTONE_NORM_LAYER : HTONE_NORM_RMS;
    options.norm_placement = form / 6 == 0 ? HTONE_NORM_PRE : HTONE_NORM_POST;
    options.hidden = 12;
    const int is_rms = options.norm_kind == HTONE_NORM_RMS, is_pre = options.norm_placement == HTONE_NORM_PRE;
    htone_module* module = make_block(&options);
    fill_parameters(module);
    htone_tensor *input = leaf(make_noise(HTONE_F64, 3, 3, 2, 4, 8)), *x = input;
    htone_tensor* actual = forward(module, x);
    htone_tensor* given = is_pre ? norm_of(module, "ln_1", is_rms, x) : x;
    x = apply2(htone_add, x, plain_attention(module, "attn.", given, given, 2, 2, later_keys(4, 4)));
    if (!is_pre) x = norm_of(module, "ln_1", is_rms, x);
    given = is_pre ? norm_of(module, "ln_2", is_rms, x) : x;
    x = apply2(htone_add, x, plain_feed_forward(module, options.feed_forward, given));
    if (!is_pre) x = norm_of(module, "ln_2", is_rms, x);
    assert_same_net(module, actual, x, 1, &input);
  }
}

static htone_tensor* make_tokens(int time) {
  double values[32];
  for (int i = 0; i < 2 * time; ++i) values[i] = (i * 7 + 3) % 11;
  return make_tensor(HTONE_I64, values, 2, 2, time);
}

static void a_transformer_is_its_parts_one_after_another(void** state) {
  (void)state;
  for (int head = HTONE_HEAD_NONE; head <= HTONE_HEAD_OWN; ++head) {
    htone_transformer_options options = tiny_options(HTONE_F64);
    htone_tensor *embedded[2], *positions = NULL;
    htone_module* stack = NULL;
    options.head = (htone_output_head)head;
    htone_module* module = make_transformer(&options);
    fill_parameters(module);
    htone_tensor* tokens = make_tokens(5);
    assert_ok(htone_embedding(parameter_named(module, "wte.weight"), tokens, -1, &embedded[0]));
    assert_ok(htone_arange(test_device(), HTONE_I64, 0, 5, 1, &positions));
    assert_ok(htone_embedding(parameter_named(module, "wpe.weight"), keep_tensor(positions), -1, &embedded[1]));
    assert_ok(htone_module_find(module, "h", &stack));
    htone_tensor* x = apply2(htone_add, keep_tensor(embedded[0]), keep_tensor(embedded[1]));
    x = norm_of(module, "ln_f", 0, forward(keep_module(stack), x));
    if (head == HTONE_HEAD_TIED) x = linear_of(x, parameter_named(module, "wte.weight"), NULL);
    if (head == HTONE_HEAD_OWN) x = linear_of(x, parameter_named(module, "lm_head.weight"), NULL);
    assert_same_net(module, forward(module, tokens), x, 0, NULL);
  }
}

static void assert_names(htone_module* module, size_t expected_count, const char* const* expected) {
  size_t count = 0, length = 0;
  assert_ok(htone_module_parameter_count(module, &count));
  assert_int_equal(count, expected_count);
  for (size_t i = 0; i < count; ++i) {
    char name[64];
    assert_ok(htone_module_parameter_name(module, i, name, sizeof name, &length));
    assert_string_equal(name, expected[i]);
  }
}

static void parameters_have_the_names_of_gpt2s_tensors(void** state) {
  (void)state;
  static const char* const gpt2[] = {"wte.weight",
                                     "wpe.weight",
                                     "h.0.ln_1.weight",
                                     "h.0.ln_1.bias",
                                     "h.0.attn.c_attn.weight",
                                     "h.0.attn.c_attn.bias",
                                     "h.0.attn.c_proj.weight",
                                     "h.0.attn.c_proj.bias",
                                     "h.0.ln_2.weight",
                                     "h.0.ln_2.bias",
                                     "h.0.mlp.c_fc.weight",
                                     "h.0.mlp.c_fc.bias",
                                     "h.0.mlp.c_proj.weight",
                                     "h.0.mlp.c_proj.bias",
                                     "ln_f.weight",
                                     "ln_f.bias"};
  static const char* const other[] = {"wte.weight",
                                      "wpe.weight",
                                      "h.0.ln_1.weight",
                                      "h.0.attn.c_attn.weight",
                                      "h.0.attn.c_proj.weight",
                                      "h.0.ln_2.weight",
                                      "h.0.mlp.c_fc.weight",
                                      "h.0.mlp.c_proj.weight",
                                      "h.0.mlp.c_gate.weight",
                                      "lm_head.weight"};
  htone_transformer_options options = tiny_options(HTONE_F32);
  options.layers = 1;
  htone_module* module = make_transformer(&options);
  assert_names(module, COUNT_OF(gpt2), gpt2);
  assert_shape(parameter_named(module, "h.0.attn.c_attn.weight"), 24, 8);
  assert_shape(parameter_named(module, "h.0.mlp.c_fc.weight"), 32, 8);
  options.bias = 0;
  options.kv_heads = 1;
  options.norm_kind = HTONE_NORM_RMS;
  options.norm_placement = HTONE_NORM_POST;
  options.feed_forward = HTONE_FEED_FORWARD_SWIGLU;
  options.head = HTONE_HEAD_OWN;
  module = make_transformer(&options);
  assert_names(module, COUNT_OF(other), other);
  assert_shape(parameter_named(module, "h.0.attn.c_attn.weight"), 16, 8);
}

static void a_model_that_learns_no_positions_has_no_embedding_of_them(void** state) {
  (void)state;
  static const char* const expected[] = {
      "wte.weight",      "h.0.ln_1.weight",     "h.0.attn.c_attn.weight", "h.0.attn.c_proj.weight",
      "h.0.ln_2.weight", "h.0.mlp.c_fc.weight", "h.0.mlp.c_proj.weight",  "ln_f.weight"};
  htone_transformer_options options = tiny_options(HTONE_F32);
  htone_tensor* longer = make_tokens(16);
  options.layers = 1;
  options.bias = 0;
  for (int kind = HTONE_POSITION_ROTARY; kind <= HTONE_POSITION_NONE; ++kind) {
    options.position_kind = (htone_position_kind)kind;
    htone_module* module = make_transformer(&options);
    assert_names(module, COUNT_OF(expected), expected);
    assert_shape(forward(module, longer), 2, 16, 11); /* more than `positions` */
  }
}

static double deviation_of(htone_tensor* tensor) {
  double *values = values_of(tensor), squares = 0;
  const int64_t count = numel_of(tensor);
  for (int64_t i = 0; i < count; ++i) squares += values[i] * values[i];
  free(values);
  return sqrt(squares / (double)count);
}

/* A rotary model knows the order of the tokens before the last one, which a model without positions does not. */
static void rotary_positions_tell_the_order_of_tokens(void** state) {
  (void)state;
  for (int kind = HTONE_POSITION_ROTARY; kind <= HTONE_POSITION_NONE; ++kind) {
    htone_transformer_options options = tiny_options(HTONE_F64);
    options.causal = 0; /* the mask shows no order */
    options.position_kind = (htone_position_kind)kind;
    htone_module* module = make_transformer(&options);
    fill_parameters(module);
    htone_tensor* first = forward(module, make_tensor(HTONE_I64, (const double[]){1, 2, 3}, 2, 1, 3));
    htone_tensor* second = forward(module, make_tensor(HTONE_I64, (const double[]){2, 1, 3}, 2, 1, 3));
    htone_tensor* difference = apply2(htone_sub, slice_of(first, 1, 2, 3, 1), slice_of(second, 1, 2, 3, 1));
    assert_int_equal(deviation_of(difference) > 1e-6, kind == HTONE_POSITION_ROTARY);
  }
}

static void weights_begin_as_gpt2s(void** state) {
  (void)state;
  htone_transformer_options options = tiny_options(HTONE_F32);
  options.width = 64;
  options.layers = 8;
  htone_module* module = make_transformer(&options);
  assert_near(deviation_of(parameter_named(module, "h.0.attn.c_attn.weight")), 0.02, 0.001);
  assert_near(deviation_of(parameter_named(module, "h.7.mlp.c_proj.weight")), 0.02 / 4, 0.001);
  assert_near(deviation_of(parameter_named(module, "h.7.attn.c_proj.weight")), 0.02 / 4, 0.001);
  assert_near(deviation_of(parameter_named(module, "wte.weight")), 0.02, 0.003);
  assert_near(deviation_of(parameter_named(module, "h.3.ln_2.weight")), 1, 0);
  assert_near(deviation_of(parameter_named(module, "h.3.mlp.c_fc.bias")), 0, 0);
}

/* An encoder: the features of visible tokens do not depend on the tokens that the mask hides. */
static void an_encoder_does_not_see_padding(void** state) {
  (void)state;
  htone_transformer_options options = tiny_options(HTONE_F64);
  options.causal = 0;
  options.head = HTONE_HEAD_NONE;
  htone_module* module = make_transformer(&options);
  fill_parameters(module);
  htone_tensor* mask = make_tensor(HTONE_BOOL, (const double[]){1, 1, 0, 0}, 4, 1, 1, 1, 4);
  htone_tensor* first[] = {make_tensor(HTONE_I64, (const double[]){1, 2, 3, 4}, 2, 1, 4), mask};
  htone_tensor* second[] = {make_tensor(HTONE_I64, (const double[]){1, 2, 9, 5}, 2, 1, 4), mask};
  htone_tensor* third[] = {make_tensor(HTONE_I64, (const double[]){1, 7, 3, 4}, 2, 1, 4), mask};
  htone_tensor* seen = slice_of(forward_several(module, 2, first), 1, 0, 1, 1);
  assert_shape(forward_several(module, 2, first), 1, 4, 8);
  assert_tensors_near(slice_of(forward_several(module, 2, second), 1, 0, 1, 1), seen, 0);
  htone_tensor* difference = apply2(htone_sub, slice_of(forward_several(module, 2, third), 1, 0, 1, 1), seen);
  assert_true(deviation_of(difference) > 1e-6); /* it does depend on a visible one, also behind it */
}

static void autocast_runs_in_16_bits_and_is_near(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_BF16, HTONE_F16};
  static const double tolerances[] = {0.03, 0.005};
  htone_transformer_options options = tiny_options(HTONE_F32);
  options.width = 32;
  htone_module* module = make_transformer(&options);
  htone_tensor *tokens = make_tokens(6), *exact = forward(module, tokens);
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_autocast_policy* policy = NULL;
    htone_tensor* out = NULL;
    assert_ok(htone_autocast_policy_create(dtypes[i], &policy));
    assert_ok(htone_module_forward(module, tokens, keep_policy(policy), &out));
    assert_int_equal(dtype_of(keep_tensor(out)), dtypes[i]);
    const double error = deviation_of(apply2(htone_sub, cast_of(out, HTONE_F32), exact)) / deviation_of(exact);
    assert_true(error > 0 && error < tolerances[i]);
    backward(sum_of(apply2(htone_mul, out, out)));
    const double gradient = deviation_of(grad_of(parameter_named(module, "h.0.attn.c_attn.weight")));
    assert_true(gradient > 0 && isfinite(gradient));
  }
}

static void dropout_acts_in_training_alone(void** state) {
  (void)state;
  htone_transformer_options options = tiny_options(HTONE_F32);
  options.dropout = 0.5;
  htone_module* module = make_transformer(&options);
  htone_tensor* tokens = make_tokens(6);
  assert_true(deviation_of(apply2(htone_sub, forward(module, tokens), forward(module, tokens))) > 0);
  assert_ok(htone_module_set_training(module, 0));
  assert_tensors_near(forward(module, tokens), forward(module, tokens), 0);
}

static void wrong_sizes_and_inputs_are_named(void** state) {
  (void)state;
  htone_transformer_options options = tiny_options(HTONE_F32);
  htone_module *module = make_transformer(&options), *none = NULL;
  htone_tensor* x = make_noise(HTONE_F64, 1, 3, 2, 3, 8);
  assert_refuses(htone_module_forward(module, make_tokens(7), NULL, &out), SHAPE_MISMATCH,
                 "input [2, 7] has 7 tokens in a row, more than the positions=6 of the model");
  assert_refuses(htone_module_forward(module, make_tensor(HTONE_I64, (const double[]){1, 2}, 1, 2), NULL, &out),
                 SHAPE_MISMATCH, "input [2], expected tokens [batch, time]");
  assert_refuses(htone_module_forward_n(module, 5, (htone_tensor*[]){x, x, x, x, x}, NULL, 1, &out), INVALID_ARGUMENT,
                 "input_count=5 for a module of kind transformer, expected 1 to 4");
  options.heads = 8;
  options.position_kind = HTONE_POSITION_ROTARY;
  assert_fails(htone_module_create_transformer(test_device(), &options, &none), HTONE_ERROR_INVALID_ARGUMENT,
               "options.position_kind: rotary positions need an even width / heads, which is 1");
  assert_null(none);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_of_every_form_equals_single_operations),
      cmocka_unit_test(a_transformer_is_its_parts_one_after_another),
      cmocka_unit_test(parameters_have_the_names_of_gpt2s_tensors),
      cmocka_unit_test(a_model_that_learns_no_positions_has_no_embedding_of_them),
      cmocka_unit_test(rotary_positions_tell_the_order_of_tokens),
      cmocka_unit_test(weights_begin_as_gpt2s),
      cmocka_unit_test(an_encoder_does_not_see_padding),
      cmocka_unit_test(autocast_runs_in_16_bits_and_is_near),
      cmocka_unit_test(dropout_acts_in_training_alone),
      cmocka_unit_test(wrong_sizes_and_inputs_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
