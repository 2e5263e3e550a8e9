/* Updates compared with their formulas in double precision, over many steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

enum { kRows = 5, kColumns = 7, kSize = kRows * kColumns, kSteps = 200 };

/* One parameter's state in double precision. */
typedef struct Reference {
  double weights[kSize], first[kSize], second[kSize];
  int step;
} Reference;

static void adamw_reference(Reference* r, const double* gradient, const htone_adamw_options* o) {
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
static void adam_reference(Reference* r, const double* gradient, const htone_adamw_options* o) {
  htone_adamw_options still = *o;
  double decayed[kSize];
  still.weight_decay = 0;
  for (int i = 0; i < kSize; ++i) decayed[i] = gradient[i] + o->weight_decay * r->weights[i];
  adamw_reference(r, decayed, &still);
}

static void lion_reference(Reference* r, const double* gradient, const htone_lion_options* o) {
  for (int i = 0; i < kSize; ++i) {
    const double direction = o->beta1 * r->first[i] + (1 - o->beta1) * gradient[i];
    r->weights[i] -= o->lr * ((direction > 0) - (direction < 0) + o->weight_decay * r->weights[i]);
    r->first[i] = o->beta2 * r->first[i] + (1 - o->beta2) * gradient[i];
  }
}

static void sgd_reference(Reference* r, const double* gradient, const htone_sgd_options* o) {
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
  const htone_adamw_options options = {sizeof options, HTONE_F32, 1e-2, 0.8,      0.95, 1e-6, 0.1,
                                       HTONE_F32,      HTONE_F32, 0,    HTONE_F32};
  htone_optimizer* optimizer = NULL;
  Reference reference;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create_adamw(module, &options, &optimizer));
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
  htone_adamw_options options;
  htone_optimizer* optimizer = NULL;
  Reference reference;
  assert_ok(htone_adam_options_init(&options));
  options.lr = 1e-2;
  options.weight_decay = 0.1;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create_adam(module, &options, &optimizer));
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
  htone_lion_options options;
  htone_optimizer* optimizer = NULL;
  Reference reference;
  assert_ok(htone_lion_options_init(&options));
  options.lr = 1e-3;
  options.beta1 = 0.75;
  options.beta2 = 0.875;
  options.weight_decay = 0.1;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create_lion(module, &options, &optimizer));
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
  assert_ok(htone_optimizer_create_lion(module, NULL, &optimizer));
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

static void follow_sgd(const htone_sgd_options* options) {
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_optimizer* optimizer = NULL;
  Reference reference;
  begin_reference(&reference, module);
  assert_ok(htone_optimizer_create_sgd(module, options, &optimizer));
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
  static const htone_sgd_options kVariants[] = {
      {sizeof(htone_sgd_options), HTONE_F32, 0.02, 0, 0, 0, 0, HTONE_F32, HTONE_F32, 0},
      {sizeof(htone_sgd_options), HTONE_F32, 0.02, 0, 0, 0.1, 0, HTONE_F32, HTONE_F32, 0},
      {sizeof(htone_sgd_options), HTONE_F32, 0.02, 0.9, 0, 0.01, 0, HTONE_F32, HTONE_F32, 0},
      {sizeof(htone_sgd_options), HTONE_F32, 0.02, 0.8, 0.3, 0, 0, HTONE_F32, HTONE_F32, 0},
      {sizeof(htone_sgd_options), HTONE_F32, 0.02, 0.9, 0, 0.01, 1, HTONE_F32, HTONE_F32, 0},
  };
  for (size_t i = 0; i < COUNT_OF(kVariants); ++i) follow_sgd(&kVariants[i]);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adamw_follows_its_formula_for_200_steps),
      cmocka_unit_test(adam_follows_its_formula_for_200_steps),
      cmocka_unit_test(lion_follows_its_formula_for_200_steps),
      cmocka_unit_test(lion_steps_nowhere_without_a_direction),
      cmocka_unit_test(sgd_follows_its_formula_for_200_steps),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
