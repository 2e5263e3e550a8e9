/* A tiny GPT against a reference in double, written as plain loops: gradients, and the losses of 20 steps. */
#include <math.h>
#include <stdlib.h>

#include "gpt_reference.h"
#include "test_optimizers.h"

enum { kSteps = 20 };
static const GptSizes kSizes = {
    .batch = 3, .time = 7, .vocabulary = 13, .positions = 9, .layers = 2, .width = 16, .heads = 4};
static const double kRate = 0.2;

static htone_module* make_gpt(htone_dtype dtype) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* module = NULL;
  options.vocabulary = kSizes.vocabulary;
  options.positions = kSizes.positions;
  options.layers = kSizes.layers;
  options.width = kSizes.width;
  options.heads = kSizes.heads;
  options.dtype = dtype;
  assert_ok(htone_module_create_transformer(test_device(), &options, &module));
  return keep_module(module);
}

/* All parameters one after another, in the order of the module. */
static double* read_parameters(htone_module* module) {
  const size_t expected = gpt_parameter_count(kSizes);
  double* all = calloc(expected, sizeof *all);
  size_t count = 0, read = 0;
  assert_ok(htone_module_parameter_count(module, &count));
  for (size_t i = 0; i < count; ++i) {
    htone_tensor* weights = weights_of(module, i);
    const size_t size = (size_t)numel_of(weights);
    assert_true(read + size <= expected);
    assert_ok(htone_tensor_read(weights, HTONE_F64, all + read, size * sizeof *all));
    read += size;
  }
  assert_int_equal(read, expected);
  return all;
}

/* Tokens that follow a rule in part, so that there is something to learn. */
static void fill_batch(int step, int* tokens, int* targets) {
  for (int i = 0; i < kSizes.batch * kSizes.time; ++i) {
    tokens[i] = (i * 5 + step * 3 + i / 4) % kSizes.vocabulary;
    targets[i] = (tokens[i] * 2 + 1) % kSizes.vocabulary;
  }
}

static htone_tensor* as_tensor(const int* values, int ndim, int rows, int columns) {
  double numbers[64];
  for (int i = 0; i < rows * columns; ++i) numbers[i] = values[i];
  return ndim == 1 ? make_tensor(HTONE_I64, numbers, 1, rows * columns)
                   : make_tensor(HTONE_I64, numbers, 2, rows, columns);
}

static htone_tensor* loss_of(htone_module* module, const int* tokens, const int* targets) {
  const int64_t rows[] = {kSizes.batch * kSizes.time, kSizes.vocabulary};
  htone_tensor *logits = forward(module, as_tensor(tokens, 2, kSizes.batch, kSizes.time)), *flat = NULL, *loss = NULL;
  assert_ok(htone_reshape(logits, 2, rows, &flat));
  assert_ok(htone_cross_entropy(keep_tensor(flat), as_tensor(targets, 1, kSizes.batch, kSizes.time), NULL, &loss));
  return keep_tensor(loss);
}

/* The reference's own gradient is right: it agrees with finite differences at some of its parameters. */
static void the_references_gradient_is_that_of_its_loss(void** state) {
  (void)state;
  int tokens[64], targets[64];
  const size_t count = gpt_parameter_count(kSizes);
  double *parameters = read_parameters(make_gpt(HTONE_F64)), *gradients = calloc(2 * count, sizeof *gradients);
  for (size_t i = 0; i < count; ++i) parameters[i] += 0.1 * sin((double)i);
  fill_batch(0, tokens, targets);
  gpt_loss(kSizes, parameters, tokens, targets, gradients);
  for (size_t i = 0; i < count; i += 97) {
    const double step = 1e-5, kept = parameters[i];
    parameters[i] = kept + step;
    const double above = gpt_loss(kSizes, parameters, tokens, targets, gradients + count);
    parameters[i] = kept - step;
    const double below = gpt_loss(kSizes, parameters, tokens, targets, gradients + count);
    parameters[i] = kept;
    assert_near(gradients[i], (above - below) / (2 * step), 1e-8);
  }
  free(gradients);
  free(parameters);
}

static void gradients_equal_the_references(void** state) {
  (void)state;
  int tokens[64], targets[64];
  htone_module* module = make_gpt(HTONE_F64);
  double *parameters = read_parameters(module), *gradients = calloc(gpt_parameter_count(kSizes), sizeof *gradients);
  fill_batch(0, tokens, targets);
  htone_tensor* loss = loss_of(module, tokens, targets);
  assert_near(item_of(loss), gpt_loss(kSizes, parameters, tokens, targets, gradients), 1e-12);
  backward(loss);
  size_t count = 0, read = 0;
  assert_ok(htone_module_parameter_count(module, &count));
  for (size_t i = 0; i < count; ++i) {
    htone_tensor* gradient = grad_of(weights_of(module, i));
    check_values(gradient, 1e-12, gradients + read, (size_t)numel_of(gradient), __FILE__, __LINE__);
    read += (size_t)numel_of(gradient);
  }
  free(gradients);
  free(parameters);
}

static void twenty_steps_in_f32_have_the_losses_of_the_reference(void** state) {
  (void)state;
  int tokens[64], targets[64];
  htone_module* module = make_gpt(HTONE_F32);
  htone_optimizer* optimizer = make_sgd(module, kRate);
  const size_t count = gpt_parameter_count(kSizes);
  double *parameters = read_parameters(module), *gradients = calloc(count, sizeof *gradients), first = 0, last = 0;
  for (int step = 0; step < kSteps; ++step) {
    fill_batch(step % 4, tokens, targets);
    htone_tensor* loss = loss_of(module, tokens, targets);
    last = gpt_loss(kSizes, parameters, tokens, targets, gradients);
    if (step == 0) first = last;
    assert_true(fabs(item_of(loss) - last) < 1e-4);
    backward(loss);
    assert_ok(htone_optimizer_step(optimizer));
    assert_ok(htone_optimizer_zero_grad(optimizer));
    for (size_t i = 0; i < count; ++i) parameters[i] -= kRate * gradients[i];
  }
  assert_true(last < 0.9 * first); /* it learns, so the comparison is not one of constants */
  free(gradients);
  free(parameters);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_references_gradient_is_that_of_its_loss),
      cmocka_unit_test(gradients_equal_the_references),
      cmocka_unit_test(twenty_steps_in_f32_have_the_losses_of_the_reference),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
