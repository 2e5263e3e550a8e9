/* Updates against the same formulas in double precision, over many steps. */
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

/* Each step rounds a weight of about 1 once, to half of 2^-23, and 200 of them may add up. */
static void assert_follows(htone_module* module, const Reference* r) {
  double* values = values_of(weights_of(module, 0));
  for (int i = 0; i < kSize; ++i) assert_near(values[i], r->weights[i], 4e-6 * (1 + fabs(r->weights[i])));
  free(values);
}

/* `gradient` is the gradient of sum(weights * gradient). */
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
  const htone_adamw_options options = {sizeof options, HTONE_F32, 1e-2, 0.8, 0.95, 1e-6, 0.1, HTONE_F32, HTONE_F32, 0, HTONE_F32};
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
      cmocka_unit_test(sgd_follows_its_formula_for_200_steps),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
