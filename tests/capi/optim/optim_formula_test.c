/* Updates compared with their formulas in double precision, over many steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

enum { kRows = 5, kColumns = 7, kSize = kRows * kColumns, kSteps = 200 };

/* One parameter's state in double precision. */
typedef struct Reference {
  double weights[kSize], first[kSize], second[kSize], third[kSize];
  int step;
} Reference;

static void adamw_reference(Reference* r, const double* gradient, const htone_optimizer_options* o) {
  ++r->step;
  for (int i = 0; i < kSize; ++i) {
    const double g = gradient[i];
    r->weights[i] *= 1 - o->lr * o->weight_decay;
    r->first[i] = o->beta1 * r->first[i] + (1 - o->beta1) * g;
    r->second[i] = o->beta2 * r->second[i] + (1 - o->beta2) * g * g;
    const double mean = r->first[i] / (1 - pow(o->beta1, r->step));
    const double deviation = sqrt(r->second[i] / (1 - pow(o->beta2, r->step)));
    r->weights[i] -= o->lr * mean / (deviation + o->epsilon);
  }
}

/* Like AdamW, except for the weight decay. */
static void adam_reference(Reference* r, const double* gradient, const htone_optimizer_options* o) {
  htone_optimizer_options still = *o;
  double decayed[kSize];
  still.weight_decay = 0;
  for (int i = 0; i < kSize; ++i) decayed[i] = gradient[i] + o->weight_decay * r->weights[i];
  adamw_reference(r, decayed, &still);
}

static void lion_reference(Reference* r, const double* gradient, const htone_optimizer_options* o) {
  for (int i = 0; i < kSize; ++i) {
    const double direction = o->beta1 * r->first[i] + (1 - o->beta1) * gradient[i];
    r->weights[i] -= o->lr * ((direction > 0) - (direction < 0) + o->weight_decay * r->weights[i]);
    r->first[i] = o->beta2 * r->first[i] + (1 - o->beta2) * gradient[i];
  }
}

/* As PyTorch: the mean square (second) and the mean (third) of the gradients, which a centered step subtracts. */
static void rmsprop_reference(Reference* r, const double* gradient, const htone_optimizer_options* o) {
  for (int i = 0; i < kSize; ++i) {
    const double g = gradient[i] + o->weight_decay * r->weights[i];
    r->second[i] = o->alpha * r->second[i] + (1 - o->alpha) * g * g;
    r->third[i] = o->alpha * r->third[i] + (1 - o->alpha) * g;
    const double step = g / (sqrt(r->second[i] - (o->centered ? r->third[i] * r->third[i] : 0)) + o->epsilon);
    r->first[i] = o->momentum * r->first[i] + step;
    r->weights[i] -= o->lr * r->first[i];
  }
}

static void sgd_reference(Reference* r, const double* gradient, const htone_optimizer_options* o) {
  ++r->step;
  for (int i = 0; i < kSize; ++i) {
    double g = gradient[i] + o->weight_decay * r->weights[i];
    if (o->momentum != 0) {
      r->first[i] = r->step == 1 ? g : o->momentum * r->first[i] + (1 - o->dampening) * g;
      g = o->nesterov ? g + o->momentum * r->first[i] : r->first[i];
    }
    r->weights[i] -= o->lr * g;
  }
}

static void begin_reference(Reference* r, htone_module* module) {
  memset(r, 0, sizeof *r);
  double* values = values_of(weights_of(module, 0));
  memcpy(r->weights, values, sizeof r->weights);
  free(values);
}

/* Each step rounds a weight of about 1 once, by at most half of 2^-23, and the errors of 200 steps may add up. */
static void assert_follows(htone_module* module, const Reference* r) {
  double* values = values_of(weights_of(module, 0));
  for (int i = 0; i < kSize; ++i) assert_near(values[i], r->weights[i], 4e-6 * (1 + fabs(r->weights[i])));
  free(values);
}

/* Sets `gradient` by a backward of sum(weights * gradient). */
static void train_one_step(htone_optimizer* optimizer, htone_tensor* weights, htone_tensor* gradient) {
  htone_tensor *product = NULL, *loss = NULL;
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_ok(htone_mul(weights, gradient, &product));
  assert_ok(htone_sum(product, 0, NULL, 0, &loss));
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_ok(htone_optimizer_step(optimizer));
  assert_ok(htone_tensor_release(product));
  assert_ok(htone_tensor_release(loss));
}

static void adamw_follows_its_formula_for_200_steps(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.lr = 1e-2;
  options.beta1 = 0.8;
  options.beta2 = 0.95;
  options.epsilon = 1e-6;
  options.weight_decay = 0.1;
  htone_optimizer* optimizer = NULL;
  Reference reference;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create(module, &options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < kSteps; ++step) {
    htone_tensor* gradient = make_noise(HTONE_F32, step, 2, kRows, kColumns);
    double* values = values_of(gradient);
    train_one_step(optimizer, weights, gradient);
    adamw_reference(&reference, values, &options);
    free(values);
  }
  assert_follows(module, &reference);
}

static void adam_follows_its_formula_for_200_steps(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer_options options;
  htone_optimizer* optimizer = NULL;
  Reference reference;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAM, &options));
  options.lr = 1e-2;
  options.weight_decay = 0.1;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create(module, &options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < kSteps; ++step) {
    htone_tensor* gradient = make_noise(HTONE_F32, step, 2, kRows, kColumns);
    double* values = values_of(gradient);
    train_one_step(optimizer, weights, gradient);
    adam_reference(&reference, values, &options);
    free(values);
  }
  assert_follows(module, &reference);
}

/* The gradients are multiples of 2^-7 and the betas are multiples of 2^-3, so rounding cannot change the sign of a
 * direction. */
static void lion_follows_its_formula_for_200_steps(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer_options options;
  htone_optimizer* optimizer = NULL;
  Reference reference;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_LION, &options));
  options.lr = 1e-3;
  options.beta1 = 0.75;
  options.beta2 = 0.875;
  options.weight_decay = 0.1;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create(module, &options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < kSteps; ++step) {
    double gradient[kSize];
    for (int i = 0; i < kSize; ++i) gradient[i] = ((int)((step * 31 + (uint32_t)i * 17) % 257) - 100) / 128.0;
    train_one_step(optimizer, weights, make_tensor(HTONE_F32, gradient, 2, kRows, kColumns));
    lion_reference(&reference, gradient, &options);
  }
  assert_follows(module, &reference);
}

/* If moment and gradient are both 0, the weight stays. A NaN gradient makes its weight NaN. */
static void lion_steps_nowhere_without_a_direction(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer* optimizer = NULL;
  double gradient[kSize] = {0};
  Reference before;
  begin_reference(&before, module);
  assert_ok(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_LION_OPTIONS_INIT, &optimizer));
  train_one_step(keep_optimizer(optimizer), weights, make_tensor(HTONE_F32, gradient, 2, kRows, kColumns));
  assert_follows(module, &before);
  gradient[3] = NAN;
  train_one_step(optimizer, weights, make_tensor(HTONE_F32, gradient, 2, kRows, kColumns));
  before.weights[3] = NAN;
  double* after = values_of(weights);
  for (int i = 0; i < kSize; ++i)
    assert_true(isnan(before.weights[i]) ? isnan(after[i]) : after[i] == before.weights[i]);
  free(after);
}

static double root_mean_square(const double* values) {
  double sum = 0;
  for (int i = 0; i < kSize; ++i) sum += values[i] * values[i];
  return sqrt(sum / kSize);
}

/* As PyTorch: the means of rows (first) and columns (second) of the squared gradients. */
static void adafactor_reference(Reference* r, const double* gradient, const htone_optimizer_options* o) {
  const double share = pow(++r->step, o->beta2_decay);
  const double scale = fmax(o->epsilon2, root_mean_square(r->weights)) * fmin(o->lr, 1 / sqrt(r->step));
  double update[kSize], mean = 0;
  for (int row = 0; row < kRows; ++row) {
    double square = 0;
    for (int k = 0; k < kColumns; ++k) square += pow(gradient[row * kColumns + k], 2) / kColumns;
    r->first[row] += share * (square - r->first[row]);
    mean += r->first[row] / kRows;
  }
  for (int k = 0; k < kColumns; ++k) {
    double square = 0;
    for (int row = 0; row < kRows; ++row) square += pow(gradient[row * kColumns + k], 2) / kRows;
    r->second[k] += share * (square - r->second[k]);
  }
  for (int i = 0; i < kSize; ++i) {
    const double variance = r->first[i / kColumns] * r->second[i % kColumns] / fmax(mean, o->epsilon1);
    update[i] = gradient[i] / sqrt(fmax(variance, o->epsilon1 * o->epsilon1));
  }
  const double bound = fmax(1, root_mean_square(update) / o->clip_threshold);
  for (int i = 0; i < kSize; ++i) {
    r->weights[i] = r->weights[i] * (1 - o->lr * o->weight_decay) - scale / bound * update[i];
  }
}

static void adafactor_follows_its_formula_for_200_steps(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer_options options;
  htone_optimizer* optimizer = NULL;
  Reference reference;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAFACTOR, &options));
  options.weight_decay = 0.1;
  assert_ok(htone_optimizer_create(module, &options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < kSteps; ++step) {
    htone_tensor* gradient = make_noise(HTONE_F32, step, 2, kRows, kColumns);
    double* values = values_of(gradient);
    train_one_step(optimizer, weights, gradient);
    adafactor_reference(&reference, values, &options);
    free(values);
  }
  assert_follows(module, &reference);
}

static void adafactor_has_the_defaults_of_pytorch(void** state) {
  (void)state;
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAFACTOR, &options));
  assert_true(options.lr == 1e-2 && options.beta2_decay == -0.8 && options.clip_threshold == 1);
  assert_true(options.epsilon1 == 0x1p-23 && options.epsilon2 == 1e-3 && options.weight_decay == 0);
}

static void follow_rmsprop(const htone_optimizer_options* options) {
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer* optimizer = NULL;
  Reference reference;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create(module, options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < kSteps; ++step) {
    htone_tensor* gradient = make_noise(HTONE_F32, step, 2, kRows, kColumns);
    double* values = values_of(gradient);
    train_one_step(optimizer, weights, gradient);
    rmsprop_reference(&reference, values, options);
    free(values);
  }
  assert_follows(module, &reference);
}

static void rmsprop_follows_its_formula_for_200_steps(void** state) {
  (void)state;
  for (int variant = 0; variant < 8; ++variant) {
    htone_optimizer_options options;
    assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &options));
    options.lr = 1e-3;
    options.alpha = 0.9;
    options.weight_decay = variant & 1 ? 0.1 : 0;
    options.momentum = variant & 2 ? 0.8 : 0;
    options.centered = variant & 4 ? 1 : 0;
    options.epsilon = options.centered ? 1e-3 : 1e-8;
    follow_rmsprop(&options);
  }
}

static void rmsprop_has_the_defaults_of_pytorch(void** state) {
  (void)state;
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &options));
  assert_true(options.lr == 1e-2 && options.alpha == 0.99 && options.epsilon == 1e-8);
  assert_true(options.weight_decay == 0 && options.momentum == 0 && options.centered == 0);
}

static void follow_sgd(const htone_optimizer_options* options) {
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer* optimizer = NULL;
  Reference reference;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create(module, options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < kSteps; ++step) {
    htone_tensor* gradient = make_noise(HTONE_F32, step, 2, kRows, kColumns);
    double* values = values_of(gradient);
    train_one_step(optimizer, weights, gradient);
    sgd_reference(&reference, values, options);
    free(values);
  }
  assert_follows(module, &reference);
}

static void sgd_follows_its_formula_for_200_steps(void** state) {
  (void)state;
  static const struct {
    double momentum, dampening, weight_decay;
    int32_t nesterov;
  } kVariants[] = {{0, 0, 0, 0}, {0, 0, 0.1, 0}, {0.9, 0, 0.01, 0}, {0.8, 0.3, 0, 0}, {0.9, 0, 0.01, 1}};
  for (size_t i = 0; i < COUNT_OF(kVariants); ++i) {
    htone_optimizer_options options = HTONE_SGD_OPTIONS_INIT;
    options.lr = 0.02;
    options.momentum = kVariants[i].momentum;
    options.dampening = kVariants[i].dampening;
    options.weight_decay = kVariants[i].weight_decay;
    options.nesterov = kVariants[i].nesterov;
    follow_sgd(&options);
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adamw_follows_its_formula_for_200_steps),
      cmocka_unit_test(adam_follows_its_formula_for_200_steps),
      cmocka_unit_test(lion_follows_its_formula_for_200_steps),
      cmocka_unit_test(lion_steps_nowhere_without_a_direction),
      cmocka_unit_test(adafactor_follows_its_formula_for_200_steps),
      cmocka_unit_test(adafactor_has_the_defaults_of_pytorch),
      cmocka_unit_test(rmsprop_follows_its_formula_for_200_steps),
      cmocka_unit_test(rmsprop_has_the_defaults_of_pytorch),
      cmocka_unit_test(sgd_follows_its_formula_for_200_steps),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
