/* Prompts of different lengths in one batch, with padding before the shorter ones: positions as an input of a model,
 * and generation with a mask. Each row must give what its prompt gives alone. */
#include <math.h>
#include <stdlib.h>

#include "test_modules.h"

enum { kVocabulary = 11, kPositions = 12, kRows = 3, kTime = 5, kNew = 7 };

/* The prompts end in column kTime; 10 is padding. */
static const double kTokens[kRows * kTime] = {10, 10, 10, 3, 7, 1, 4, 2, 8, 5, 10, 9, 6, 0, 2};
static const int kPadding[kRows] = {3, 0, 1};
static const htone_position_kind kKinds[] = {HTONE_POSITION_LEARNED, HTONE_POSITION_ROTARY, HTONE_POSITION_NONE};

static htone_module* make_model(htone_position_kind kind, int32_t causal) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* module = NULL;
  options.vocabulary = kVocabulary;
  options.positions = kPositions;
  options.layers = 2;
  options.width = 16;
  options.heads = 4;
  options.kv_heads = 2;
  options.position_kind = kind;
  options.causal = causal;
  options.dtype = HTONE_F64;
  assert_ok(htone_module_create_transformer(test_device(), &options, &module));
  fill_parameters(keep_module(module));
  if (kind == HTONE_POSITION_LEARNED) { /* large embeddings, so that another position gives another likeliest token */
    double wpe[kPositions * 16];
    for (int i = 0; i < kPositions * 16; ++i) wpe[i] = 8 * sin(i * i);
    assert_ok(htone_tensor_write(weights_of(module, 1), HTONE_F64, wpe, sizeof wpe));
  }
  return module;
}

static htone_tensor* batch(void) { return make_tensor(HTONE_I64, kTokens, 2, kRows, kTime); }

/* [kRows, kTime]: 1 where a token is no padding. */
static htone_tensor* mask(htone_dtype dtype) {
  double shown[kRows * kTime];
  for (int i = 0; i < kRows * kTime; ++i) shown[i] = i % kTime >= kPadding[i / kTime];
  return make_tensor(dtype, shown, 2, kRows, kTime);
}

static htone_tensor* reshaped_mask(void) {
  const int64_t shape[] = {kRows, 1, 1, kTime};
  htone_tensor* out = NULL;
  assert_ok(htone_reshape(mask(HTONE_BOOL), 4, shape, &out));
  return keep_tensor(out);
}

static htone_tensor* positions(htone_dtype dtype) {
  double values[kRows * kTime];
  for (int i = 0; i < kRows * kTime; ++i) values[i] = fmax(i % kTime - kPadding[i / kTime], 0);
  return make_tensor(dtype, values, 2, kRows, kTime);
}

static htone_tensor* row_of(htone_tensor* tensor, int row) { return slice_of(tensor, 0, row, row + 1, 1); }

static htone_tensor* prompt_of(int row) { return slice_of(row_of(batch(), row), 1, kPadding[row], kTime, 1); }

static void positions_give_each_row_the_logits_of_its_prompt_alone(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kKinds); ++i) {
    for (int32_t causal = 0; causal < 2; ++causal) {
      htone_module* module = make_model(kKinds[i], causal);
      for (int wide = 0; wide < 2; ++wide) {
        htone_tensor* places = kKinds[i] == HTONE_POSITION_NONE ? NULL : positions(wide ? HTONE_I64 : HTONE_I32);
        htone_tensor* all = forward_several(module, 4, (htone_tensor*[]){batch(), reshaped_mask(), NULL, places});
        for (int row = 0; row < kRows; ++row) {
          assert_tensors_near(slice_of(row_of(all, row), 1, kPadding[row], kTime, 1), forward(module, prompt_of(row)),
                              1e-12);
        }
      }
    }
  }
}

/* Positions from 0 on are those of a model without the input; other ones change the logits. */
static void positions_broadcast_over_rows_and_stand_for_the_default(void** state) {
  (void)state;
  const double count[] = {0, 1, 2, 3, 4}, back[] = {4, 3, 2, 1, 0};
  for (int i = 0; i < 2; ++i) {
    htone_module* module = make_model(kKinds[i], 1);
    htone_tensor *plain = forward(module, batch()), *inputs[] = {batch(), NULL, NULL, NULL};
    inputs[3] = make_tensor(HTONE_I64, count, 1, kTime);
    assert_tensors_near(forward_several(module, 4, inputs), plain, 1e-12);
    inputs[3] = make_tensor(HTONE_I64, count, 2, 1, kTime);
    assert_tensors_near(forward_several(module, 4, inputs), plain, 1e-12);
    inputs[3] = make_tensor(HTONE_I64, back, 1, kTime);
    double *other = values_of(forward_several(module, 4, inputs)), *own = values_of(plain);
    assert_true(fabs(other[kVocabulary * kTime - 1] - own[kVocabulary * kTime - 1]) > 1e-6);
    free(other);
    free(own);
  }
}

static void attention_alone_takes_positions_where_it_rotates(void** state) {
  (void)state;
  htone_multihead_attention_options options = HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT;
  htone_module *module = NULL, *plain = NULL;
  htone_tensor* x = make_noise(HTONE_F64, 1, 3, 2, 3, 8);
  htone_tensor* inputs[] = {x, NULL, NULL, NULL, NULL, make_tensor(HTONE_I64, (const double[]){7, 8, 9}, 1, 3)};
  options.dtype = HTONE_F64;
  assert_ok(htone_module_create_multihead_attention(test_device(), 8, 2, &options, &plain));
  keep_module(plain);
  options.rotary = 1;
  assert_ok(htone_module_create_multihead_attention(test_device(), 8, 2, &options, &module));
  fill_parameters(keep_module(module));
  assert_tensors_near(forward_several(module, 6, inputs), forward(module, x), 1e-12); /* distances alone count */
  assert_refuses(htone_module_forward_n(plain, 6, inputs, NULL, 1, &out), UNSUPPORTED,
                 "positions for attention that is not rotary");
  inputs[1] = x;
  assert_refuses(htone_module_forward_n(module, 6, inputs, NULL, 1, &out), UNSUPPORTED,
                 "positions for attention to another sequence");
}

static void assert_positions_fail(htone_module* module, htone_tensor* places, htone_status status, const char* part) {
  htone_tensor *inputs[] = {batch(), NULL, NULL, places}, *out = NULL;
  assert_fails(htone_module_forward_n(module, 4, inputs, NULL, 1, &out), status, part);
  assert_null(out);
}

static void wrong_positions_are_named(void** state) {
  (void)state;
  const double high[] = {0, 1, 2, 3, kPositions};
  for (int i = 0; i < 2; ++i) {
    htone_module* module = make_model(kKinds[i], 1);
    assert_positions_fail(module, make_ramp(HTONE_F32, 1, kTime), HTONE_ERROR_DTYPE_MISMATCH,
                          "positions is f32, expected i64 or i32");
    assert_positions_fail(module, make_ramp(HTONE_I64, 1, 4), HTONE_ERROR_SHAPE_MISMATCH,
                          "positions [4], expected to broadcast to [3, 5]");
    assert_positions_fail(module, make_ramp(HTONE_I64, 3, 1, kRows, kTime), HTONE_ERROR_SHAPE_MISMATCH,
                          "positions [1, 3, 5]");
    assert_positions_fail(module, make_ramp(HTONE_I64, 2, 4, kTime), HTONE_ERROR_SHAPE_MISMATCH, "positions [4, 5]");
  }
  assert_positions_fail(make_model(HTONE_POSITION_LEARNED, 1), make_tensor(HTONE_I64, high, 1, kTime),
                        HTONE_ERROR_INVALID_ARGUMENT, "=12 is outside [0, 12)");
  assert_positions_fail(make_model(HTONE_POSITION_NONE, 1), make_tensor(HTONE_I64, high, 1, kTime),
                        HTONE_ERROR_UNSUPPORTED, "positions for a model that has none");
}

static htone_tensor* generate(htone_module* module, htone_tensor* tokens, const htone_generate_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_module_generate(module, tokens, options, &out));
  return keep_tensor(out);
}

/* With a cache, without one, and with windows that begin to slide earlier and later than the prompts end. */
static void a_mask_continues_each_prompt_as_alone(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kKinds); ++i) {
    for (int32_t causal = 0; causal < 2; ++causal) {
      htone_module* module = make_model(kKinds[i], causal);
      for (int context = 0; context <= 8; context += 4) {
        htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
        options.temperature = 0;
        options.new_tokens = kNew;
        options.context = context;
        options.mask = mask(context == 0 ? HTONE_U8 : HTONE_BOOL);
        htone_tensor* text = generate(module, batch(), &options);
        options.mask = NULL;
        for (int row = 0; row < kRows; ++row) {
          assert_tensors_near(slice_of(row_of(text, row), 1, kPadding[row], kTime + kNew, 1),
                              generate(module, prompt_of(row), &options), 0);
        }
      }
    }
  }
}

/* The positions of a model limit the tokens of a prompt, not the padding before it. */
static void padding_takes_no_position(void** state) {
  (void)state;
  htone_module* module = make_model(HTONE_POSITION_LEARNED, 1);
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  options.temperature = 0;
  options.new_tokens = kPositions - 1; /* the last token is not run */
  options.mask = row_of(mask(HTONE_BOOL), 0);
  htone_tensor* text = generate(module, row_of(batch(), 0), &options);
  options.mask = NULL;
  assert_tensors_near(slice_of(text, 1, kPadding[0], kTime + kPositions - 1, 1),
                      generate(module, prompt_of(0), &options), 0);
  options.mask = row_of(mask(HTONE_BOOL), 0);
  options.new_tokens = kPositions;
  assert_refuses(htone_module_generate(module, row_of(batch(), 0), &options, &out), SHAPE_MISMATCH,
                 "more than the positions=12");
}

static void assert_mask_fails(htone_module* module, htone_tensor* wrong, htone_status status, const char* part) {
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  htone_tensor* out = NULL;
  options.mask = wrong;
  assert_fails(htone_module_generate(module, batch(), &options, &out), status, part);
  assert_null(out);
}

static void wrong_masks_are_named(void** state) {
  (void)state;
  const double right[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1}, none[kRows * kTime] = {0};
  htone_module *module = make_model(HTONE_POSITION_LEARNED, 1), *table = NULL;
  assert_mask_fails(module, mask(HTONE_F32), HTONE_ERROR_DTYPE_MISMATCH, "options.mask is f32, expected bool or u8");
  assert_mask_fails(module, reshaped_mask(), HTONE_ERROR_SHAPE_MISMATCH,
                    "options.mask [3, 1, 1, 5], expected the shape [3, 5] of tokens");
  assert_mask_fails(module, make_tensor(HTONE_BOOL, right, 2, kRows, kTime), HTONE_ERROR_INVALID_ARGUMENT,
                    "options.mask hides the token 4 of row 1 behind one that it shows; padding must come first");
  assert_mask_fails(module, make_tensor(HTONE_BOOL, none, 2, kRows, kTime), HTONE_ERROR_INVALID_ARGUMENT,
                    "options.mask shows no token of row 0");
  assert_ok(htone_module_create_embedding(test_device(), kVocabulary, kVocabulary, NULL, &table));
  assert_mask_fails(keep_module(table), mask(HTONE_BOOL), HTONE_ERROR_UNSUPPORTED,
                    "options.mask for a module of kind embedding, expected a transformer");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions_give_each_row_the_logits_of_its_prompt_alone),
      cmocka_unit_test(positions_broadcast_over_rows_and_stand_for_the_default),
      cmocka_unit_test(attention_alone_takes_positions_where_it_rotates),
      cmocka_unit_test(wrong_positions_are_named),
      cmocka_unit_test(a_mask_continues_each_prompt_as_alone),
      cmocka_unit_test(padding_takes_no_position),
      cmocka_unit_test(wrong_masks_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
