/* A tiny GPT-2 beside the same one in PyTorch: it begins with PyTorch's weights, and 20 steps of AdamW over the same
 * tokens give PyTorch's losses and weights. tests/vectors/pytorch/make_gpt.py wrote the files; sizes and settings must
 * match it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/gpt_weights.h"
#include "test_optimizers.h"

enum { kSteps = 20, kBatch = 3, kTime = 7, kVocabulary = 13, kPositions = 9, kLayers = 2, kWidth = 16, kHeads = 4 };

static htone_module* make_gpt(const char* weights) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* module = NULL;
  options.vocabulary = kVocabulary;
  options.positions = kPositions;
  options.layers = kLayers;
  options.width = kWidth;
  options.heads = kHeads;
  assert_ok(htone_module_create_transformer(test_device(), &options, &module));
  assert_true(gpt_weights_read(keep_module(module), test_device(), weights));
  return module;
}

static htone_optimizer* make_optimizer(htone_module* module) {
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.lr = 0.01;
  options.beta1 = 0.9;
  options.beta2 = 0.99;
  options.epsilon = 1e-8;
  options.weight_decay = 0.1;
  return make_adamw(module, &options);
}

/* A tensor of the file with tokens [steps, batch, time + 1] and losses [steps]. */
static htone_tensor* of_training(const char* name) {
  htone_state_dict* file = NULL;
  htone_tensor* tensor = NULL;
  assert_ok(htone_safetensors_open(test_device(), GPT_FOLDER "/training.safetensors", &file));
  assert_ok(htone_state_dict_find(keep_state_dict(file), name, &tensor));
  return keep_tensor(tensor);
}

static htone_tensor* reshaped(htone_tensor* tensor, int ndim, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  htone_tensor* out = NULL;
  assert_ok(htone_reshape(tensor, ndim, shape, &out));
  return keep_tensor(out);
}

/* The target of each token is the token after it. */
static htone_tensor* loss_of(htone_module* module, htone_tensor* tokens, int64_t step) {
  htone_tensor *batch = slice_of(tokens, 0, step, step + 1, 1), *loss = NULL;
  htone_tensor* input = reshaped(slice_of(batch, 2, 0, kTime, 1), 2, kBatch, kTime);
  htone_tensor* targets = reshaped(slice_of(batch, 2, 1, kTime + 1, 1), 1, kBatch * kTime, 0);
  htone_tensor* logits = reshaped(forward(module, input), 2, kBatch * kTime, kVocabulary);
  assert_ok(htone_cross_entropy(logits, targets, NULL, &loss));
  return keep_tensor(loss);
}

static bool is_bias_of_a_key(const char* name, int64_t index) {
  return strstr(name, ".c_attn.bias") != NULL && index >= kWidth && index < 2 * kWidth;
}

/* A bias of all keys changes no attention weight, so its gradient is 0 but for rounding errors, and AdamW makes these
 * errors as large as other gradients. */
static void assert_same_weights(htone_module* module, htone_module* expected) {
  htone_state_dict *state = NULL, *wanted = NULL;
  size_t count = 0, length = 0;
  char name[64];
  assert_ok(htone_module_state_dict(module, &state));
  assert_ok(htone_module_state_dict(expected, &wanted));
  assert_ok(htone_state_dict_count(keep_state_dict(state), &count));
  assert_int_equal(count, 4 + 12 * kLayers);
  keep_state_dict(wanted);
  for (size_t i = 0; i < count; ++i) {
    htone_tensor *made = NULL, *given = NULL;
    assert_ok(htone_state_dict_name(state, i, name, sizeof name, &length));
    assert_ok(htone_state_dict_tensor(state, i, &made));
    assert_ok(htone_state_dict_find(wanted, name, &given));
    double *numbers = values_of(keep_tensor(made)), *numbers_given = values_of(keep_tensor(given));
    for (int64_t k = 0; k < numel_of(made); ++k) {
      if (!is_bias_of_a_key(name, k)) assert_near(numbers[k], numbers_given[k], 1e-5);
    }
    free(numbers);
    free(numbers_given);
  }
}

static void twenty_steps_of_adamw_give_pytorchs_losses_and_weights(void** state) {
  (void)state;
  htone_module* module = make_gpt(GPT_FOLDER "/before.safetensors");
  htone_optimizer* optimizer = make_optimizer(module);
  htone_tensor* tokens = of_training("tokens");
  double* losses = values_of(of_training("losses"));
  for (int step = 0; step < kSteps; ++step) {
    htone_tensor* loss = loss_of(module, tokens, step);
    assert_near(item_of(loss), losses[step], 1e-5);
    backward(loss);
    assert_ok(htone_optimizer_step(optimizer));
    assert_ok(htone_optimizer_zero_grad(optimizer));
  }
  assert_true(losses[kSteps - 1] < 0.6 * losses[0]); /* it learns, so the comparison is not one of constants */
  assert_same_weights(module, make_gpt(GPT_FOLDER "/after.safetensors"));
  free(losses);
}

/* The shape of this matrix does not show in which order it is stored. */
static void a_square_matrix_in_the_wrong_layout_changes_the_first_loss(void** state) {
  (void)state;
  static const char name[] = "h.0.attn.c_proj.weight";
  htone_load_options options = HTONE_LOAD_OPTIONS_INIT;
  htone_state_dict *weights = NULL, *changed = NULL;
  htone_tensor* matrix = NULL;
  htone_module* module = make_gpt(GPT_FOLDER "/before.safetensors");
  assert_ok(htone_module_state_dict(module, &weights));
  assert_ok(htone_state_dict_find(keep_state_dict(weights), name, &matrix));
  assert_ok(htone_state_dict_create(&changed));
  assert_ok(htone_state_dict_add(keep_state_dict(changed), name, transpose_of(keep_tensor(matrix), 0, 1)));
  options.strict = 0;
  assert_ok(htone_module_load_state_dict(module, changed, &options));
  double* losses = values_of(of_training("losses"));
  assert_true(fabs(item_of(loss_of(module, of_training("tokens"), 0)) - losses[0]) > 1e-2);
  free(losses);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(twenty_steps_of_adamw_give_pytorchs_losses_and_weights),
      cmocka_unit_test(a_square_matrix_in_the_wrong_layout_changes_the_first_loss),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
