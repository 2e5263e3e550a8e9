/* The options of the six kinds of optimizers: the values that each kind refuses, and settings that it does not read. */
#include <math.h>

#include "test_optimizers.h"

/* A value of a field that a kind refuses. Flags have values of their own. */
typedef struct Wrong {
  htone_optimizer_kind kind;
  const char* field;
  size_t offset;
  double value;
} Wrong;

#define WRONG(kind, field, value) \
  { HTONE_OPTIMIZER_##kind, "options." #field "=", offsetof(htone_optimizer_options, field), value }
#define NOT_A_FRACTION(kind, field) WRONG(kind, field, 1), WRONG(kind, field, -0.1), WRONG(kind, field, NAN)
#define NEGATIVE(kind, field) \
  WRONG(kind, field, -0.1), WRONG(kind, field, NAN), WRONG(kind, field, INFINITY), WRONG(kind, field, 1e39)
#define NOT_ABOVE_0(kind, field) NEGATIVE(kind, field), WRONG(kind, field, 0), WRONG(kind, field, 1e-46)

static void assert_refused(htone_optimizer_options options, const char* message) {
  htone_optimizer* out = NULL;
  assert_fails(htone_optimizer_create(make_linear(test_device(), 2, 2, 1), &options, &out),
               HTONE_ERROR_INVALID_ARGUMENT, message);
  assert_null(out);
}

static htone_optimizer_options defaults_of(htone_optimizer_kind kind) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(kind, &options));
  return options;
}

static void assert_all_refused(const Wrong* wrong, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    htone_optimizer_options options = defaults_of(wrong[i].kind);
    *(double*)((char*)&options + wrong[i].offset) = wrong[i].value;
    assert_refused(options, wrong[i].field);
  }
}

static void a19_numbers_outside_their_bounds_are_refused(void** state) {
  (void)state;
  const Wrong wrong[] = {
      NEGATIVE(SGD, lr),
      NEGATIVE(SGD, weight_decay),
      NOT_A_FRACTION(SGD, momentum),
      WRONG(SGD, dampening, 1.1),
      WRONG(SGD, dampening, -0.1),
      WRONG(SGD, dampening, NAN),
      NEGATIVE(ADAM, lr),
      NEGATIVE(ADAM, weight_decay),
      NOT_A_FRACTION(ADAM, beta1),
      NOT_A_FRACTION(ADAM, beta2),
      NOT_ABOVE_0(ADAM, epsilon),
      NEGATIVE(LION, lr),
      NEGATIVE(LION, weight_decay),
      NOT_A_FRACTION(LION, beta1),
      NOT_A_FRACTION(LION, beta2),
      NEGATIVE(RMSPROP, lr),
      NEGATIVE(RMSPROP, weight_decay),
      NOT_A_FRACTION(RMSPROP, alpha),
      NOT_ABOVE_0(RMSPROP, epsilon),
      NOT_A_FRACTION(RMSPROP, momentum),
      NEGATIVE(ADAFACTOR, lr),
      NEGATIVE(ADAFACTOR, weight_decay),
      WRONG(ADAFACTOR, beta2_decay, 0.1),
      WRONG(ADAFACTOR, beta2_decay, NAN),
      WRONG(ADAFACTOR, beta2_decay, -INFINITY),
      NOT_ABOVE_0(ADAFACTOR, epsilon1),
      NEGATIVE(ADAFACTOR, epsilon2),
      WRONG(ADAFACTOR, clip_threshold, 0.9),
      WRONG(ADAFACTOR, clip_threshold, NAN),
      WRONG(ADAFACTOR, clip_threshold, 1e39),
  };
  assert_all_refused(wrong, COUNT_OF(wrong));
  htone_optimizer_options options = defaults_of(HTONE_OPTIMIZER_ADAMW);
  options.lr = 3.5e38;
  assert_refused(options, "options.lr=3.5e+38, expected a finite number of at least 0 in FP32");
  options.lr = 0.1;
  options.epsilon = 1e-46;
  assert_refused(options, "options.epsilon=1e-46, expected a finite number above 0 in FP32");
  options.epsilon = 1e-8;
  options.beta1 = 1;
  assert_refused(options, "options.beta1=1, expected a number in [0, 1)");
}

static void a_number_that_the_kind_does_not_read_is_refused(void** state) {
  (void)state;
  const Wrong wrong[] = {
      WRONG(SGD, beta1, 0.9),          WRONG(SGD, beta2, 0.9),           WRONG(SGD, epsilon, 1e-8),
      WRONG(ADAM, momentum, 0.9),      WRONG(ADAM, dampening, 0.5),      WRONG(ADAMW, alpha, 0.9),
      WRONG(ADAMW, clip_threshold, 1), WRONG(LION, epsilon, 1e-8),       WRONG(LION, momentum, 0.9),
      WRONG(RMSPROP, dampening, 0.5),  WRONG(RMSPROP, beta1, 0.9),       WRONG(RMSPROP, beta2_decay, -0.8),
      WRONG(ADAFACTOR, beta1, 0.9),    WRONG(ADAFACTOR, epsilon, 1e-30), WRONG(ADAFACTOR, momentum, NAN),
      WRONG(ADAMW, epsilon1, 1e-30),   WRONG(SGD, epsilon2, 1e-3),
  };
  assert_all_refused(wrong, COUNT_OF(wrong));
  htone_optimizer_options options = defaults_of(HTONE_OPTIMIZER_ADAMW);
  options.momentum = 0.9;
  assert_refused(options, "options.momentum=0.9, expected 0: adamw does not read it");
}

static void a_flag_or_storage_that_the_kind_does_not_read_is_refused(void** state) {
  (void)state;
  for (int kind = HTONE_OPTIMIZER_ADAMW; kind <= HTONE_OPTIMIZER_ADAFACTOR; ++kind) {
    htone_optimizer_options options = defaults_of((htone_optimizer_kind)kind);
    options.nesterov = 1; /* SGD needs momentum with it */
    assert_refused(options, "options.nesterov=1");
    options = defaults_of((htone_optimizer_kind)kind);
    options.centered = 1;
    if (kind != HTONE_OPTIMIZER_RMSPROP) assert_refused(options, "options.centered=1, expected 0");
    options = defaults_of((htone_optimizer_kind)kind);
    options.moment2_dtype = HTONE_U8;
    if (kind == HTONE_OPTIMIZER_SGD || kind == HTONE_OPTIMIZER_LION || kind == HTONE_OPTIMIZER_ADAFACTOR) {
      assert_refused(options, "options.moment2_dtype=u8, expected f32");
    }
  }
  htone_optimizer_options options = defaults_of(HTONE_OPTIMIZER_ADAFACTOR);
  options.moment1_dtype = HTONE_BF16;
  assert_refused(options, "options.moment1_dtype=bf16, expected f32: adafactor does not read it");
  options = defaults_of(HTONE_OPTIMIZER_ADAFACTOR);
  options.min_8bit_size = 4096;
  assert_refused(options, "options.min_8bit_size=4096, expected 0: adafactor does not read it");
}

static void storage_that_no_kind_has_is_refused(void** state) {
  (void)state;
  for (int kind = HTONE_OPTIMIZER_ADAMW; kind <= HTONE_OPTIMIZER_ADAFACTOR; ++kind) {
    const htone_optimizer_options usual = defaults_of((htone_optimizer_kind)kind);
    htone_optimizer_options options = usual;
    options.compute_dtype = HTONE_F64;
    assert_refused(options, "options.compute_dtype=f64, expected f32, bf16 or f16");
    options = usual;
    options.grad_dtype = HTONE_BF16;
    assert_refused(options, "options.grad_dtype=bf16, expected f32 or compute_dtype");
    options = usual;
    options.moment1_dtype = HTONE_U8;
    assert_refused(options, "options.moment1_dtype=u8");
    options = usual;
    options.moment2_dtype = HTONE_I8;
    assert_refused(options, "options.moment2_dtype=i8");
    options = usual;
    options.master_storage = HTONE_MASTER_SPLIT;
    assert_refused(options, "expected another than HTONE_MASTER_SPLIT where compute_dtype is not bf16");
    options = usual;
    options.min_8bit_size = -1;
    assert_refused(options, "options.min_8bit_size=-1");
  }
}

static void the_kind_is_one_of_six(void** state) {
  (void)state;
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.kind = (htone_optimizer_kind)7;
  assert_refused(options, "options.kind=7, expected one of htone_optimizer_kind");
  assert_fails(htone_optimizer_options_init((htone_optimizer_kind)0, &options), HTONE_ERROR_INVALID_ARGUMENT,
               "kind=0, expected one of htone_optimizer_kind");
}

/* A program that was built when the structure was shorter gets the defaults of its kind. */
static void a25_a_structure_without_later_settings_has_the_defaults_of_its_kind(void** state) {
  (void)state;
  htone_optimizer_options given = HTONE_LION_OPTIONS_INIT, told = HTONE_SGD_OPTIONS_INIT;
  htone_optimizer* optimizer = NULL;
  given.struct_size = offsetof(htone_optimizer_options, lr);
  assert_ok(htone_optimizer_create(make_linear(test_device(), 2, 2, 1), &given, &optimizer));
  assert_ok(htone_optimizer_group(keep_optimizer(optimizer), 0, &told));
  assert_true(told.kind == HTONE_OPTIMIZER_LION && told.lr == 1e-4 && told.beta2 == 0.99);
}

static void no_options_mean_adamw_for_a_new_optimizer_and_its_own_kind_for_a_group(void** state) {
  (void)state;
  htone_optimizer_options told = HTONE_SGD_OPTIONS_INIT;
  const htone_optimizer_options lion = HTONE_LION_OPTIONS_INIT;
  htone_optimizer *first = NULL, *second = NULL;
  assert_ok(htone_optimizer_create(make_linear(test_device(), 2, 2, 1), NULL, &first));
  assert_ok(htone_optimizer_group(keep_optimizer(first), 0, &told));
  assert_true(told.kind == HTONE_OPTIMIZER_ADAMW && told.weight_decay == 0.01);
  assert_ok(htone_optimizer_create(make_linear(test_device(), 2, 2, 1), &lion, &second));
  keep_optimizer(second);
  assert_ok(htone_optimizer_add_group(second, parameters_of_module(make_linear(test_device(), 2, 2, 1)), NULL));
  assert_ok(htone_optimizer_group(second, 1, &told));
  assert_true(told.kind == HTONE_OPTIMIZER_LION && told.lr == 1e-4);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a19_numbers_outside_their_bounds_are_refused),
      cmocka_unit_test(a_number_that_the_kind_does_not_read_is_refused),
      cmocka_unit_test(a_flag_or_storage_that_the_kind_does_not_read_is_refused),
      cmocka_unit_test(storage_that_no_kind_has_is_refused),
      cmocka_unit_test(the_kind_is_one_of_six),
      cmocka_unit_test(a25_a_structure_without_later_settings_has_the_defaults_of_its_kind),
      cmocka_unit_test(no_options_mean_adamw_for_a_new_optimizer_and_its_own_kind_for_a_group),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
