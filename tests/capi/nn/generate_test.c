/* Text from a model: the most likely tokens, draws within top_k and top_p, seeds, contexts, ends. */
#include <math.h>
#include <stdlib.h>

#include "test_modules.h"

enum { kVocabulary = 4 };

/* A model whose logits at each position depend on the token there alone: row `token` of a table. */
static htone_module* make_table(const double* logits) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_embedding(test_device(), kVocabulary, kVocabulary, NULL, &module));
  keep_module(module);
  assert_ok(htone_tensor_write(weights_of(module, 0), HTONE_F64, logits, kVocabulary * kVocabulary * sizeof(double)));
  return module;
}

/* The likeliest successor of 0 is 2, of 2 is 1, of 1 is 3, of 3 is 0. */
static htone_module* make_cycle(void) {
  return make_table((const double[]){0, 1, 9, 1, 1, 0, 1, 9, 1, 9, 0, 1, 9, 1, 1, 0});
}

/* After every token the probabilities are 0.1, 0.2, 0.3, 0.4. */
static htone_module* make_constant(void) {
  double logits[kVocabulary * kVocabulary];
  for (int i = 0; i < kVocabulary * kVocabulary; ++i) logits[i] = log(0.1 * (i % kVocabulary + 1));
  return make_table(logits);
}

static htone_tensor* generate(htone_module* module, htone_tensor* tokens, const htone_generate_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_module_generate(module, tokens, options, &out));
  return keep_tensor(out);
}

static void temperature_0_takes_the_likeliest_token(void** state) {
  (void)state;
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  options.temperature = 0;
  options.new_tokens = 5;
  htone_tensor* out = generate(make_cycle(), make_tensor(HTONE_I32, (const double[]){0, 3}, 2, 2, 1), &options);
  assert_shape(out, 2, 6);
  assert_int_equal(dtype_of(out), HTONE_I64);
  assert_values(out, 0, 0, 2, 1, 3, 0, 2, 3, 0, 2, 1, 3, 0);
}

/* The shares of the tokens in 4000 draws. */
static void count_draws(const htone_generate_options* options, double* shares) {
  enum { kRows = 400, kDraws = 10 };
  double zeros[kRows] = {0};
  htone_generate_options drawn = *options;
  drawn.new_tokens = kDraws;
  htone_tensor* out = generate(make_constant(), make_tensor(HTONE_I64, zeros, 2, kRows, 1), &drawn);
  double* values = values_of(out);
  for (int i = 0; i < kVocabulary; ++i) shares[i] = 0;
  for (int i = 0; i < kRows * (kDraws + 1); ++i) {
    if (i % (kDraws + 1) > 0) shares[(int)values[i]] += 1.0 / (kRows * kDraws);
  }
  free(values);
}

static void draws_have_the_models_probabilities(void** state) {
  (void)state;
  const htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  double shares[kVocabulary];
  count_draws(&options, shares);
  for (int i = 0; i < kVocabulary; ++i) assert_near(shares[i], 0.1 * (i + 1), 0.03);
}

static void temperature_sharpens(void** state) {
  (void)state;
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  double shares[kVocabulary];
  options.temperature = 0.5; /* probabilities squared: 1, 4, 9, 16 of 30 */
  count_draws(&options, shares);
  for (int i = 0; i < kVocabulary; ++i) assert_near(shares[i], (i + 1) * (i + 1) / 30.0, 0.03);
}

static void top_k_and_top_p_cut_the_unlikely(void** state) {
  (void)state;
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  double shares[kVocabulary];
  options.top_k = 2;
  count_draws(&options, shares);
  assert_true(shares[0] == 0 && shares[1] == 0);
  assert_near(shares[3], 4.0 / 7, 0.03);
  options.top_k = 0;
  options.top_p = 0.75; /* 0.4 + 0.3 is less, so 0.2 is in, too */
  count_draws(&options, shares);
  assert_true(shares[0] == 0);
  assert_near(shares[1], 2.0 / 9, 0.03);
  options.top_k = 3;
  options.top_p = 0.3; /* the likeliest alone */
  count_draws(&options, shares);
  assert_near(shares[3], 1, 1e-9);
}

static void a_seed_gives_the_same_text_in_any_batch(void** state) {
  (void)state;
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  htone_module* model = make_constant();
  options.seed = 7;
  htone_tensor* one = make_tensor(HTONE_I64, (const double[]){0}, 2, 1, 1);
  htone_tensor* two = make_tensor(HTONE_I64, (const double[]){0, 0}, 2, 2, 1);
  double *first = values_of(generate(model, one, &options)), *second = values_of(generate(model, two, &options));
  int rows_differ = 0, seeds_differ = 0;
  for (int i = 0; i < 17; ++i) {
    assert_true(first[i] == second[i]);
    rows_differ |= second[i] != second[17 + i];
  }
  options.seed = 8;
  double* third = values_of(generate(model, one, &options));
  for (int i = 0; i < 17; ++i) seeds_differ |= first[i] != third[i];
  assert_true(rows_differ && seeds_differ);
  free(first);
  free(second);
  free(third);
}

static void a_row_that_ends_repeats_the_end(void** state) {
  (void)state;
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  options.temperature = 0;
  options.new_tokens = 4;
  options.end_token = 1;
  htone_tensor* out = generate(make_cycle(), make_tensor(HTONE_I64, (const double[]){0, 3}, 2, 2, 1), &options);
  assert_values(out, 0, 0, 2, 1, 1, 1, 3, 0, 2, 1, 1);
}

static void a_transformer_writes_beyond_its_positions_within_a_context(void** state) {
  (void)state;
  htone_transformer_options sizes = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
  htone_module* model = NULL;
  htone_tensor* prompt = make_tensor(HTONE_I64, (const double[]){1, 2, 3}, 2, 1, 3);
  sizes.vocabulary = 5;
  sizes.positions = 4;
  sizes.layers = 1;
  sizes.width = 8;
  sizes.heads = 2;
  assert_ok(htone_module_create_transformer(test_device(), &sizes, &model));
  keep_module(model);
  options.temperature = 0;
  options.new_tokens = 6;
  assert_refuses(htone_module_generate(model, prompt, &options, &out), SHAPE_MISMATCH, "positions=4");
  options.context = 4;
  htone_tensor* text = generate(model, prompt, &options);
  assert_shape(text, 1, 9);
  /* the last token is the likeliest after the four before it */
  htone_tensor *last = forward(model, slice_of(text, 1, 4, 8, 1)), *likeliest = NULL;
  assert_ok(htone_argmax(slice_of(last, 1, 3, 4, 1), 2, 0, &likeliest));
  assert_near(item_of(keep_tensor(likeliest)), item_of(slice_of(text, 1, 8, 9, 1)), 0);
  assert_int_equal(requires_grad(text), 0);
}

static void wrong_tokens_and_models_are_named(void** state) {
  (void)state;
  htone_tensor* flat = make_tensor(HTONE_I64, (const double[]){1}, 1, 1);
  assert_refuses(htone_module_generate(make_cycle(), flat, NULL, &out), SHAPE_MISMATCH,
                 "tokens [1], expected [batch, time]");
  assert_refuses(htone_module_generate(make_cycle(), make_ramp(HTONE_F32, 2, 1, 2), NULL, &out), DTYPE_MISMATCH,
                 "tokens");
  htone_module* flatten = NULL;
  assert_ok(htone_module_create_flatten(&flatten));
  keep_module(flatten);
  assert_refuses(htone_module_generate(make_sequential(2, (htone_module*[]){make_cycle(), flatten}),
                                       make_tensor(HTONE_I64, (const double[]){1}, 2, 1, 1), NULL, &out),
                 SHAPE_MISMATCH, "module returned [1, 4], expected logits");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(temperature_0_takes_the_likeliest_token),
      cmocka_unit_test(draws_have_the_models_probabilities),
      cmocka_unit_test(temperature_sharpens),
      cmocka_unit_test(top_k_and_top_p_cut_the_unlikely),
      cmocka_unit_test(a_seed_gives_the_same_text_in_any_batch),
      cmocka_unit_test(a_row_that_ends_repeats_the_end),
      cmocka_unit_test(a_transformer_writes_beyond_its_positions_within_a_context),
      cmocka_unit_test(wrong_tokens_and_models_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
