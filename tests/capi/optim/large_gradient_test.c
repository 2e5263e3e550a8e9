/* Finite gradients whose squares are not finite in FP32: no rule with a second moment stops for ever or becomes NaN. */
#include <math.h>

#include "test_optimizers.h"

enum { kRows = 32, kColumns = 16, kSize = kRows * kColumns, kSteps = 200 };

/* Rules whose moments forget a gradient within kSteps. */
typedef enum Kind { kAdamW, kAdamWIn8Bits, kAdam, kRmsprop, kCentered, kAdafactor, kKinds } Kind;

typedef struct Trained {
  htone_optimizer* optimizer;
  htone_parameter* parameter;
  htone_tensor* weights;
} Trained;

static Trained make_trained(Kind kind) {
  htone_module* module = make_linear(test_device(), kColumns, kRows, 0);
  htone_optimizer* optimizer = NULL;
  htone_optimizer_options adam = HTONE_ADAMW_OPTIONS_INIT;
  htone_optimizer_options rmsprop = HTONE_RMSPROP_OPTIONS_INIT;
  htone_optimizer_options adafactor = HTONE_ADAFACTOR_OPTIONS_INIT;
  adam.beta1 = adam.beta2 = rmsprop.alpha = 0.5;
  adam.weight_decay = 0;
  adafactor.beta2_decay = -0.1;
  if (kind == kAdamWIn8Bits) {
    adam.moment1_dtype = HTONE_I8;
    adam.moment2_dtype = HTONE_U8;
    adam.min_8bit_size = 0;
  }
  if (kind == kCentered) {
    rmsprop.centered = 1;
    rmsprop.momentum = 0.5;
  }
  if (kind == kAdam) adam.kind = HTONE_OPTIMIZER_ADAM;
  if (kind <= kAdamWIn8Bits) {
    assert_ok(htone_optimizer_create(module, &adam, &optimizer));
  } else if (kind == kAdafactor) {
    assert_ok(htone_optimizer_create(module, &adafactor, &optimizer));
  } else {
    assert_ok(htone_optimizer_create(module, &rmsprop, &optimizer));
  }
  keep_optimizer(optimizer);
  return (Trained){optimizer, parameter_of(module, 0), weights_of(module, 0)};
}

/* A step whose gradients alternate between 1 and -1, except the first. */
static void step_with(const Trained* trained, int step, double first) {
  static const int64_t shape[2] = {kRows, kColumns};
  float gradient[kSize];
  htone_tensor* tensor = NULL;
  for (int i = 0; i < kSize; ++i) gradient[i] = step % 2 == 0 ? 1 : -1;
  gradient[0] = (float)first;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_F32, 2, shape, gradient, &tensor));
  assert_ok(htone_parameter_set_grad(trained->parameter, tensor));
  assert_ok(htone_tensor_release(tensor));
  assert_ok(htone_optimizer_step(trained->optimizer));
}

static void read_weights(const Trained* trained, float* values) {
  assert_ok(htone_tensor_read(trained->weights, HTONE_F32, values, kSize * sizeof *values));
}

static void n3_a_weight_with_one_large_gradient_moves_again(void** state) {
  (void)state;
  static const double large[] = {1e25, -3e38};
  for (int kind = 0; kind < kKinds; ++kind) {
    for (size_t k = 0; k < COUNT_OF(large); ++k) {
      float before[kSize], after[kSize];
      const Trained trained = make_trained((Kind)kind);
      step_with(&trained, 0, large[k]);
      for (int step = 1; step <= kSteps; ++step) {
        read_weights(&trained, before);
        step_with(&trained, step, step % 2 == 0 ? 1 : -1);
      }
      read_weights(&trained, after);
      const float moved = after[kSize - 1] - before[kSize - 1];
      assert_true(fabsf(moved) > 1e-5f);
      for (int i = 0; i < kSize; ++i) assert_near(after[i] - before[i], moved, 0.1 * fabs(moved));
    }
  }
}

/* Not by the gradient's size. Adafactor may not move it at all: its limit on the step is that of the whole matrix. */
static void n3_the_step_of_a_large_gradient_is_bounded(void** state) {
  (void)state;
  for (int kind = 0; kind < kKinds; ++kind) {
    float before[kSize], after[kSize];
    const Trained trained = make_trained((Kind)kind);
    read_weights(&trained, before);
    step_with(&trained, 0, 1e25);
    read_weights(&trained, after);
    assert_true(after[0] <= before[0]);
    for (int i = 0; i < kSize; ++i) assert_true(fabsf(before[i] - after[i]) < 0.5f);
  }
}

static void an_infinity_still_reaches_the_weights(void** state) {
  (void)state;
  for (int kind = 0; kind < kKinds; ++kind) {
    float after[kSize];
    const Trained trained = make_trained((Kind)kind);
    step_with(&trained, 0, -INFINITY);
    read_weights(&trained, after);
    assert_true(isnan(after[0]));
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(n3_a_weight_with_one_large_gradient_moves_again),
      cmocka_unit_test(n3_the_step_of_a_large_gradient_is_bounded),
      cmocka_unit_test(an_infinity_still_reaches_the_weights),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
