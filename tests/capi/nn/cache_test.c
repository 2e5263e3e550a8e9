/* Transformers with a cache of keys and values: each way of cutting a text into calls gives the logits of one call;
 * dtypes, masks, shorter views; generation with a cache against generation without; wrong caches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

enum { kVocabulary = 11, kPositions = 12, kBatch = 2, kTime = 9 };

/* Two blocks of width 16 with four heads, of every form. */
typedef struct Form {
  htone_position_kind position_kind;
  htone_norm_placement norm_placement;
  htone_norm_kind norm_kind;
  htone_feed_forward feed_forward;
  int64_t kv_heads;
} Form;

static const Form kForms[] = {
    {HTONE_POSITION_LEARNED, HTONE_NORM_PRE, HTONE_NORM_LAYER, HTONE_FEED_FORWARD_GELU_TANH, 4},
    {HTONE_POSITION_ROTARY, HTONE_NORM_PRE, HTONE_NORM_RMS, HTONE_FEED_FORWARD_SWIGLU, 2},
    {HTONE_POSITION_LEARNED, HTONE_NORM_POST, HTONE_NORM_RMS, HTONE_FEED_FORWARD_SWIGLU, 1},
    {HTONE_POSITION_NONE, HTONE_NORM_POST, HTONE_NORM_LAYER, HTONE_FEED_FORWARD_GELU, 2},
};

static htone_transformer_options options_of(const Form* form, htone_dtype dtype) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = kVocabulary;
  options.positions = kPositions;
  options.layers = 2;
  options.width = 16;
  options.heads = 4;
  options.kv_heads = form->kv_heads;
  options.position_kind = form->position_kind;
  options.norm_placement = form->norm_placement;
  options.norm_kind = form->norm_kind;
  options.feed_forward = form->feed_forward;
  options.dtype = dtype;
  return options;
}

static htone_module* make_transformer(const htone_transformer_options* options) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_transformer(test_device(), options, &module));
  fill_parameters(keep_module(module));
  return module;
}

static htone_module* make_form(const Form* form, htone_dtype dtype) {
  const htone_transformer_options options = options_of(form, dtype);
  return make_transformer(&options);
}

static htone_tensor* make_tokens(int seed, int batch, int time) {
  double values[64];
  for (int i = 0; i < batch * time; ++i) values[i] = (i * i * 3 + i * 7 + seed) % kVocabulary;
  return make_tensor(HTONE_I64, values, 2, batch, time);
}

static htone_tensor* make_cache(htone_module* module, int64_t batch, int64_t positions, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_transformer_cache(module, batch, positions, dtype, &out));
  return keep_tensor(out);
}

/* The output for tokens [begin, end), with the cache's positions up to `end`. Nothing is recorded. */
static htone_tensor* step(htone_module* module, htone_tensor* tokens, htone_tensor* cache, int64_t begin, int64_t end,
                          htone_tensor* mask) {
  htone_tensor* inputs[] = {slice_of(tokens, 1, begin, end, 1), mask, slice_of(cache, 4, 0, end, 1)};
  htone_scope* no_grad = NULL;
  assert_ok(htone_no_grad_begin(&no_grad));
  htone_tensor* out = forward_several(module, 3, inputs);
  assert_ok(htone_scope_end(no_grad));
  return out;
}

/* The ends of the calls; the last is kTime. */
typedef struct Cuts {
  int count;
  int ends[kTime];
} Cuts;

static const Cuts kCuts[] = {{9, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {3, {4, 5, 9}}, {2, {8, 9}}, {1, {9}}};

/* The outputs of all calls side by side. */
static htone_tensor* in_steps(htone_module* module, htone_tensor* tokens, htone_tensor* cache, const Cuts* cuts) {
  htone_tensor *parts[kTime], *out = NULL;
  for (int i = 0; i < cuts->count; ++i) {
    parts[i] = step(module, tokens, cache, i == 0 ? 0 : cuts->ends[i - 1], cuts->ends[i], NULL);
  }
  assert_ok(htone_cat((size_t)cuts->count, parts, 1, &out));
  return keep_tensor(out);
}

static void steps_in_f64_give_the_logits_of_the_whole_text(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kForms); ++i) {
    htone_module* module = make_form(&kForms[i], HTONE_F64);
    htone_tensor *tokens = make_tokens(1, kBatch, kTime), *whole = forward(module, tokens);
    htone_tensor* cache = make_cache(module, kBatch, kPositions, HTONE_F64);
    for (size_t j = 0; j < COUNT_OF(kCuts); ++j) {
      assert_tensors_near(in_steps(module, tokens, cache, &kCuts[j]), whole, 1e-12);
    }
  }
}

static double distance(htone_tensor* a, htone_tensor* b) {
  double *first = values_of(a), *second = values_of(b), largest = 0;
  for (int64_t i = 0; i < numel_of(a); ++i) largest = fmax(largest, fabs(first[i] - second[i]));
  free(first);
  free(second);
  return largest;
}

static void a_step_writes_its_own_positions_alone(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[0], HTONE_F32);
  htone_tensor *tokens = make_tokens(1, kBatch, kTime), *cache = make_cache(module, kBatch, kPositions, HTONE_F32);
  assert_shape(cache, 2, 2, kBatch, 4, kPositions, 4);
  step(module, tokens, cache, 0, 5, NULL);
  htone_tensor* before = NULL;
  assert_ok(htone_tensor_clone(cache, &before));
  keep_tensor(before);
  step(module, tokens, cache, 5, 7, NULL);
  assert_true(distance(slice_of(cache, 4, 0, 5, 1), slice_of(before, 4, 0, 5, 1)) == 0);
  assert_true(distance(slice_of(cache, 4, 5, 6, 1), slice_of(before, 4, 5, 6, 1)) > 0);
  assert_true(distance(slice_of(cache, 4, 6, 7, 1), slice_of(before, 4, 6, 7, 1)) > 0);
  assert_true(distance(slice_of(cache, 4, 7, 12, 1), slice_of(before, 4, 7, 12, 1)) == 0);
}

static void a_shorter_view_drops_the_last_tokens(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[1], HTONE_F64);
  htone_tensor *first = make_tokens(1, kBatch, kTime), *second = NULL;
  htone_tensor* cache = make_cache(module, kBatch, kTime, HTONE_F64);
  htone_tensor* parts[] = {slice_of(first, 1, 0, 4, 1), make_tokens(5, kBatch, 3)};
  assert_ok(htone_cat(2, parts, 1, &second));
  keep_tensor(second);
  step(module, first, cache, 0, kTime, NULL);
  assert_tensors_near(step(module, second, cache, 4, 7, NULL), slice_of(forward(module, second), 1, 4, 7, 1), 1e-12);
}

static void a_mask_hides_positions_of_the_cache(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[0], HTONE_F64);
  htone_tensor *tokens = make_tokens(1, 1, 5), *cache = make_cache(module, 1, 5, HTONE_F64);
  htone_tensor* mask = make_tensor(HTONE_BOOL, (const double[]){1, 0, 1, 1, 1}, 4, 1, 1, 1, 5);
  htone_tensor *whole = forward_several(module, 2, (htone_tensor*[]){tokens, mask}), *first;
  first = step(module, tokens, cache, 0, 3, slice_of(mask, 3, 0, 3, 1));
  assert_tensors_near(first, slice_of(whole, 1, 0, 3, 1), 1e-12);
  assert_tensors_near(step(module, tokens, cache, 3, 5, mask), slice_of(whole, 1, 3, 5, 1), 1e-12);
  assert_true(distance(step(module, tokens, cache, 3, 5, NULL), slice_of(whole, 1, 3, 5, 1)) > 1e-6);
}

static void a_cache_of_any_float_dtype_is_near(void** state) {
  (void)state;
  static const struct {
    htone_dtype dtype;
    double tolerance;
  } cases[] = {{HTONE_F64, 1e-5}, {HTONE_F16, 0.02}, {HTONE_BF16, 0.2}};
  htone_module* module = make_form(&kForms[0], HTONE_F32);
  htone_tensor *tokens = make_tokens(1, kBatch, kTime), *whole = forward(module, tokens);
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    htone_tensor* cache = make_cache(module, kBatch, kTime, cases[i].dtype);
    htone_tensor* steps = in_steps(module, tokens, cache, &kCuts[0]);
    assert_int_equal(dtype_of(steps), HTONE_F32);
    const double error = distance(steps, whole);
    assert_true(error < cases[i].tolerance);
    assert_true(cases[i].dtype == HTONE_F64 || error > 1e-4); /* it was rounded */
  }
}

/* Under autocast keys and values have its dtype, so FP32 holds them exactly. */
static void under_autocast_a_cache_in_f32_gives_the_same_as_one_in_bf16(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[1], HTONE_F32);
  htone_tensor *tokens = make_tokens(1, kBatch, kTime), *narrow, *wide;
  htone_autocast_policy* policy = NULL;
  htone_scope* autocast = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &autocast));
  narrow = in_steps(module, tokens, make_cache(module, kBatch, kTime, HTONE_BF16), &kCuts[1]);
  wide = in_steps(module, tokens, make_cache(module, kBatch, kTime, HTONE_F32), &kCuts[1]);
  assert_ok(htone_scope_end(autocast));
  assert_int_equal(dtype_of(narrow), HTONE_BF16);
  assert_tensors_near(wide, narrow, 0);
  assert_true(distance(cast_of(narrow, HTONE_F32), forward(module, tokens)) < 0.5);
}

static void attention_alone_takes_its_layer_of_a_cache(void** state) {
  (void)state;
  htone_multihead_attention_options options = HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT;
  htone_module* module = NULL;
  htone_scope* no_grad = NULL;
  options.causal = 1;
  options.kv_heads = 1;
  options.dtype = HTONE_F64;
  assert_ok(htone_module_create_multihead_attention(test_device(), 8, 2, &options, &module));
  fill_parameters(keep_module(module));
  htone_tensor *x = make_noise(HTONE_F64, 1, 3, 2, 5, 8), *whole = forward(module, x);
  htone_tensor* cache = make_noise(HTONE_F64, 2, 5, 2, 2, 1, 5, 4); /* what was there does not matter */
  assert_ok(htone_no_grad_begin(&no_grad));
  forward_several(module, 5, (htone_tensor*[]){slice_of(x, 1, 0, 3, 1), NULL, NULL, NULL, slice_of(cache, 3, 0, 3, 1)});
  htone_tensor* rest = forward_several(module, 5, (htone_tensor*[]){slice_of(x, 1, 3, 5, 1), NULL, NULL, NULL, cache});
  assert_ok(htone_scope_end(no_grad));
  assert_tensors_near(rest, slice_of(whole, 1, 3, 5, 1), 1e-12);
}

static void a_forward_that_records_refuses_a_cache(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[0], HTONE_F32);
  htone_tensor* cache = make_cache(module, 1, 3, HTONE_F32);
  htone_tensor* inputs[] = {make_tokens(1, 1, 3), NULL, cache};
  size_t count = 0;
  assert_refuses(htone_module_forward_n(module, 3, inputs, NULL, 1, &out), STATE,
                 "layer h.0.attn (multihead_attention): cache is for inference, but this forward is recorded");
  assert_tensors_near(cache, make_cache(module, 1, 3, HTONE_F32), 0);
  assert_ok(htone_module_parameter_count(module, &count));
  for (size_t i = 0; i < count; ++i) assert_ok(htone_parameter_set_frozen(parameter_of(module, i), 1));
  forward_several(module, 3, inputs); /* nothing to record */
  assert_ok(htone_tensor_set_requires_grad(cache, 1));
  assert_refuses(htone_module_forward_n(module, 3, inputs, NULL, 1, &out), STATE, "htone_no_grad_begin");
}

/* Refused in a scope that records nothing. */
static void assert_cache_fails(htone_module* module, htone_tensor* tokens, htone_tensor* cache, htone_status status,
                               const char* part) {
  htone_tensor *inputs[] = {tokens, NULL, cache}, *out = NULL;
  htone_scope* no_grad = NULL;
  assert_ok(htone_no_grad_begin(&no_grad));
  assert_fails(htone_module_forward_n(module, 3, inputs, NULL, 1, &out), status, part);
  assert_ok(htone_scope_end(no_grad));
  assert_null(out);
}

static void wrong_caches_are_named(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[1], HTONE_F32);
  htone_tensor *tokens = make_tokens(1, kBatch, 3), *one = make_tensor(HTONE_F32, (const double[]){0}, 1, 1), *wide;
  const int64_t shape[] = {2, 2, kBatch, 2, 5, 4};
  assert_cache_fails(module, tokens, make_ramp(HTONE_F32, 5, 2, kBatch, 2, 3, 4), HTONE_ERROR_SHAPE_MISMATCH,
                     "cache [2, 2, 2, 3, 4], expected [layers=2, 2, batch, kv_heads, positions, depth]");
  assert_cache_fails(module, tokens, make_ramp(HTONE_F32, 6, 3, 2, kBatch, 2, 3, 4), HTONE_ERROR_SHAPE_MISMATCH,
                     "cache [3, 2, 2, 2, 3, 4]");
  assert_cache_fails(module, tokens, make_ramp(HTONE_F32, 6, 2, 2, kBatch, 2, 2, 4), HTONE_ERROR_SHAPE_MISMATCH,
                     "at least 3 positions");
  assert_cache_fails(module, tokens, make_ramp(HTONE_F32, 6, 2, 2, kBatch, 4, 3, 4), HTONE_ERROR_SHAPE_MISMATCH,
                     "cache [2, 2, 4, 3, 4] of a layer, expected [2, batch=2, kv_heads=2, positions, depth=4]");
  assert_cache_fails(module, tokens, make_ramp(HTONE_F32, 6, 2, 1, kBatch, 2, 3, 4), HTONE_ERROR_SHAPE_MISMATCH,
                     "cache [1, 2, 2, 3, 4] of a layer");
  assert_cache_fails(module, tokens, make_ramp(HTONE_I64, 6, 2, 2, kBatch, 2, 3, 4), HTONE_ERROR_DTYPE_MISMATCH,
                     "cache");
  assert_ok(htone_broadcast_to(one, 6, shape, &wide));
  assert_cache_fails(module, tokens, keep_tensor(wide), HTONE_ERROR_STATE, "cache is over memory");
  htone_device* other = make_device(make_context(1, 0));
  assert_ok(htone_tensor_create_zeros(other, HTONE_F32, 6, shape, &wide));
  assert_cache_fails(module, tokens, keep_tensor(wide), HTONE_ERROR_DEVICE, "cache");
}

static void positions_end_with_a_cache_as_well(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[0], HTONE_F32);
  htone_tensor* cache = make_ramp(HTONE_F32, 6, 2, 2, 1, 4, kPositions + 1, 4);
  assert_cache_fails(module, make_tokens(1, 1, 2), cache, HTONE_ERROR_SHAPE_MISMATCH,
                     "input [1, 2] has 13 tokens in a row with those of the cache, more than the positions=12");
}

static void models_that_are_not_causal_have_no_cache(void** state) {
  (void)state;
  htone_transformer_options options = options_of(&kForms[0], HTONE_F32);
  htone_tensor* x = make_noise(HTONE_F32, 1, 3, 1, 3, 8);
  htone_module *module, *attention = NULL;
  options.causal = 0;
  module = make_transformer(&options);
  assert_refuses(htone_transformer_cache(module, 1, 4, HTONE_F32, &out), UNSUPPORTED, "not causal");
  assert_cache_fails(module, make_tokens(1, 1, 3), make_ramp(HTONE_F32, 6, 2, 2, 1, 4, 3, 4), HTONE_ERROR_UNSUPPORTED,
                     "cache for attention that is not causal");
  htone_multihead_attention_options causal = HTONE_MULTIHEAD_ATTENTION_OPTIONS_INIT;
  causal.causal = 1;
  assert_ok(htone_module_create_multihead_attention(test_device(), 8, 2, &causal, &attention));
  keep_module(attention);
  htone_tensor* inputs[] = {x, x, NULL, NULL, make_ramp(HTONE_F32, 5, 2, 1, 2, 3, 4)};
  assert_refuses(htone_module_forward_n(attention, 5, inputs, NULL, 1, &out), UNSUPPORTED,
                 "cache for attention to another sequence");
}

static void only_a_transformer_has_a_cache(void** state) {
  (void)state;
  assert_refuses(htone_transformer_cache(make_linear(test_device(), 2, 2, 1), 1, 4, HTONE_F32, &out), INVALID_ARGUMENT,
                 "module is of kind linear, expected a transformer");
}

static htone_tensor* generate(htone_module* module, htone_tensor* tokens, const htone_generate_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_module_generate(module, tokens, options, &out));
  return keep_tensor(out);
}

/* A module of modules has no cache, so it runs the whole context for each token. */
static htone_module* without_cache(htone_module* module) { return make_sequential(1, &module); }

static void generation_gives_the_same_tokens_as_without_a_cache(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kForms); ++i) {
    htone_module* module = make_form(&kForms[i], HTONE_F64);
    for (int temperature = 0; temperature < 2; ++temperature) {
      for (int context = 0; context <= 5; context += 5) { /* the window slides from the 6th token on */
        htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
        htone_tensor* prompt = make_tokens(3, 3, 3);
        options.temperature = temperature;
        options.context = context;
        options.new_tokens = kPositions - 3;
        options.seed = 5;
        assert_tensors_near(generate(module, prompt, &options), generate(without_cache(module), prompt, &options), 0);
        prompt = make_tokens(3, 1, 8);
        options.new_tokens = 4;
        assert_tensors_near(generate(module, prompt, &options), generate(without_cache(module), prompt, &options), 0);
      }
    }
  }
}

/* More positions than a cache begins with. */
static void a_long_text_is_that_without_a_cache(void** state) {
  (void)state;
  htone_module* module = make_form(&kForms[1], HTONE_F64);
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  options.new_tokens = 150;
  htone_tensor* prompt = make_tokens(3, 1, 3);
  assert_tensors_near(generate(module, prompt, &options), generate(without_cache(module), prompt, &options), 0);
}

/* The numbers of tokens in a row that a module was given, in the order of its calls. */
typedef struct Lengths {
  size_t count;
  int64_t times[32];
} Lengths;

static htone_status note_length(htone_module* module, const htone_forward_call* call, void* user) {
  Lengths* lengths = user;
  int64_t shape[2];
  int32_t ndim = 0;
  (void)module;
  const htone_status status = htone_tensor_shape(call->inputs[0], shape, 2, &ndim);
  if (status == HTONE_OK && lengths->count < COUNT_OF(lengths->times)) lengths->times[lengths->count++] = shape[1];
  return status;
}

static void assert_lengths(htone_module* module, const htone_generate_options* options, size_t count,
                           const int64_t* expected) {
  Lengths lengths = {0};
  htone_hook* hook = NULL;
  assert_ok(htone_module_add_forward_pre_hook(module, note_length, &lengths, NULL, &hook));
  keep_hook(hook);
  generate(module, make_tokens(3, 2, 4), options);
  assert_ok(htone_hook_remove(hook));
  assert_int_equal(lengths.count, count);
  assert_memory_equal(lengths.times, expected, count * sizeof *expected);
}

static void generation_runs_each_token_once_until_the_window_slides(void** state) {
  (void)state;
  htone_transformer_options sizes = options_of(&kForms[0], HTONE_F32);
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  options.new_tokens = 4;
  sizes.dropout = 0.5;
  htone_module* module = make_transformer(&sizes);
  assert_lengths(module, &options, 4, (const int64_t[]){4, 5, 6, 7}); /* dropout acts */
  assert_ok(htone_module_set_training(module, 0));
  assert_lengths(module, &options, 4, (const int64_t[]){4, 1, 1, 1});
  options.context = 5;
  assert_lengths(module, &options, 4, (const int64_t[]){4, 1, 5, 5});
  options.context = 3;
  assert_lengths(module, &options, 4, (const int64_t[]){3, 3, 3, 3});
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_in_f64_give_the_logits_of_the_whole_text),
      cmocka_unit_test(a_step_writes_its_own_positions_alone),
      cmocka_unit_test(a_shorter_view_drops_the_last_tokens),
      cmocka_unit_test(a_mask_hides_positions_of_the_cache),
      cmocka_unit_test(a_cache_of_any_float_dtype_is_near),
      cmocka_unit_test(under_autocast_a_cache_in_f32_gives_the_same_as_one_in_bf16),
      cmocka_unit_test(attention_alone_takes_its_layer_of_a_cache),
      cmocka_unit_test(a_forward_that_records_refuses_a_cache),
      cmocka_unit_test(wrong_caches_are_named),
      cmocka_unit_test(positions_end_with_a_cache_as_well),
      cmocka_unit_test(models_that_are_not_causal_have_no_cache),
      cmocka_unit_test(only_a_transformer_has_a_cache),
      cmocka_unit_test(generation_gives_the_same_tokens_as_without_a_cache),
      cmocka_unit_test(a_long_text_is_that_without_a_cache),
      cmocka_unit_test(generation_runs_each_token_once_until_the_window_slides),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
