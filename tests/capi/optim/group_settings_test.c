/* The settings of a group, read and changed after its optimizer was made. */
#include <math.h>
#include <string.h>

#include "one_by_one.h"

static htone_optimizer_options adamw_group(htone_optimizer* optimizer, size_t index) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  assert_ok(htone_optimizer_group(optimizer, index, &options));
  return options;
}

static htone_optimizer_options sgd_group(htone_optimizer* optimizer, size_t index) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  assert_ok(htone_optimizer_group(optimizer, index, &options));
  return options;
}

static void a_group_tells_the_options_that_it_was_made_with(void** state) {
  (void)state;
  htone_optimizer_options given;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &given));
  given.compute_dtype = HTONE_BF16;
  given.lr = 0.25;
  given.beta1 = 0.8;
  given.beta2 = 0.95;
  given.epsilon = 1e-6;
  given.weight_decay = 0.125;
  given.grad_dtype = HTONE_BF16;
  given.moment1_dtype = HTONE_I8;
  given.moment2_dtype = HTONE_U8;
  given.min_8bit_size = 100;
  given.master_storage = HTONE_MASTER_SPLIT;
  const htone_optimizer_options told = adamw_group(make_adamw(one_by_one(1), &given), 0);
  assert_memory_equal(&told, &given, sizeof given);
}

/* Makes an optimizer over new parameters, and compares what its group tells with what it got. */
static void assert_tells_options(htone_optimizer_kind kind) {
  htone_optimizer_options given, told;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_options_init(kind, &given));
  assert_ok(htone_optimizer_options_init(kind, &told));
  given.lr = 0.375;
  given.weight_decay = 0.5;
  assert_ok(htone_optimizer_create(make_linear(test_device(), 2, 2, 1), &given, &optimizer));
  keep_optimizer(optimizer);
  assert_ok(htone_optimizer_group(optimizer, 0, &told));
  assert_memory_equal(&told, &given, sizeof given);
  told.lr = 0.75;
  assert_ok(htone_optimizer_set_group(optimizer, 0, &told));
  assert_ok(htone_optimizer_group(optimizer, 0, &given));
  assert_memory_equal(&told, &given, sizeof given);
}

static void every_kind_tells_and_takes_its_options(void** state) {
  (void)state;
  for (int kind = HTONE_OPTIMIZER_ADAMW; kind <= HTONE_OPTIMIZER_ADAFACTOR; ++kind) {
    assert_tells_options((htone_optimizer_kind)kind);
  }
}

static void an_older_program_gets_as_many_fields_as_it_knows(void** state) {
  (void)state;
  htone_optimizer* optimizer = make_sgd(one_by_one(1), 0.5);
  htone_optimizer_options options;
  memset(&options, 0x5a, sizeof options);
  options.struct_size = 16; /* up to lr */
  assert_ok(htone_optimizer_group(optimizer, 0, &options));
  assert_true(options.lr == 0.5 && options.struct_size == 16);
  assert_int_equal(((unsigned char*)&options)[16], 0x5a);
}

/* A25: AdamW's defaults are not the group's, and not those of Adam. */
static void fields_that_an_older_program_lacks_stay_as_they_are(void** state) {
  (void)state;
  htone_optimizer_options given = HTONE_ADAM_OPTIONS_INIT, shorter, told = HTONE_ADAMW_OPTIONS_INIT;
  htone_optimizer* optimizer = NULL;
  given.compute_dtype = HTONE_BF16;
  given.beta2 = 0.75;
  given.weight_decay = 0.5;
  given.moment1_dtype = HTONE_BF16;
  assert_ok(htone_optimizer_create(one_by_one(1), &given, &optimizer));
  keep_optimizer(optimizer);
  memset(&shorter, 0xff, sizeof shorter);
  memcpy(&shorter, &given, offsetof(htone_optimizer_options, beta2));
  shorter.struct_size = offsetof(htone_optimizer_options, beta2);
  shorter.beta1 = given.beta1 = 0.25;
  assert_ok(htone_optimizer_set_group(optimizer, 0, &shorter));
  assert_ok(htone_optimizer_group(optimizer, 0, &told));
  assert_memory_equal(&told, &given, sizeof given);
}

/* Weights follow the new settings, and the count of steps and the moments go on. */
static void changed_settings_hold_from_the_next_step_on(void** state) {
  (void)state;
  htone_module* changed = one_by_one(1);
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.lr = 0.1;
  htone_optimizer* optimizer = make_adamw(changed, &options);
  train_one_step(optimizer, changed, 1);
  const htone_optimizer_options first = adamw_group(optimizer, 0);
  htone_optimizer_options second = first;
  second.lr = 0.2;
  second.beta1 = 0.5;
  second.beta2 = 0.75;
  second.epsilon = 0.25;
  second.weight_decay = 0.5;
  assert_ok(htone_optimizer_set_group(optimizer, 0, &second));
  train_one_step(optimizer, changed, 1);
  /* The gradient is 1 in both steps. */
  const double m = 0.5 * 0.1 + 0.5, v = 0.75 * 0.001 + 0.25;
  const double after_first = 1 - 0.1 * 0.01 - 0.1 / (1 + 1e-8);
  const double step = 0.2 / (1 - 0.25) * m / (sqrt(v) / sqrt(1 - 0.5625) + 0.25);
  assert_near(value_of(changed, 0), after_first - 0.2 * 0.5 * after_first - step, 1e-6);
}

static void each_group_is_changed_alone(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  const htone_optimizer_options slow = sgd_options(0.125), fast = sgd_options(0.5);
  htone_optimizer* optimizer = make_sgd_over(parameters_matching(module, "*weight"), &slow);
  assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(module, "*bias"), &fast));
  htone_optimizer_options second = sgd_group(optimizer, 1);
  second.weight_decay = 1;
  assert_ok(htone_optimizer_set_group(optimizer, 1, &second));
  assert_true(sgd_group(optimizer, 0).weight_decay == 0 && sgd_group(optimizer, 1).weight_decay == 1);
  train_one_step(optimizer, module, 1);
  assert_near(value_of(module, 0), 0.875, 0);
  assert_near(value_of(module, 1), 0, 0); /* 1 - 0.5 (1 + 1) */
}

static void the_learning_rate_is_that_of_set_group_lr(void** state) {
  (void)state;
  htone_optimizer* optimizer = make_sgd(one_by_one(1), 0.5);
  htone_schedule* half = NULL;
  assert_ok(htone_schedule_create_linear(0.5, 0.5, 1, &half));
  assert_ok(htone_optimizer_set_schedule(optimizer, keep_schedule(half)));
  assert_ok(htone_optimizer_set_group_lr(optimizer, 0, 0.25));
  htone_optimizer_options options = sgd_group(optimizer, 0);
  assert_true(options.lr == 0.25); /* its own, without the schedule */
  double lr = 0;
  options.lr = 1;
  assert_ok(htone_optimizer_set_group(optimizer, 0, &options));
  assert_ok(htone_optimizer_group_lr(optimizer, 0, &lr));
  assert_true(lr == 0.5);
}

static void storage_cannot_change(void** state) {
  (void)state;
  htone_optimizer* optimizer = make_adamw(one_by_one(1), NULL);
  const htone_optimizer_options own = adamw_group(optimizer, 0);
  htone_optimizer_options other = own;
  other.compute_dtype = HTONE_BF16;
  assert_fails(htone_optimizer_set_group(optimizer, 0, &other), HTONE_ERROR_INVALID_ARGUMENT,
               "options.compute_dtype=bf16, expected the group's f32");
  other.compute_dtype = own.compute_dtype;
  other.moment1_dtype = HTONE_I8;
  assert_fails(htone_optimizer_set_group(optimizer, 0, &other), HTONE_ERROR_INVALID_ARGUMENT,
               "options.moment1_dtype=i8, expected the group's f32");
  other = own;
  other.moment2_dtype = HTONE_U8;
  assert_fails(htone_optimizer_set_group(optimizer, 0, &other), HTONE_ERROR_INVALID_ARGUMENT, "moment2_dtype");
  other = own;
  other.min_8bit_size = 0;
  assert_fails(htone_optimizer_set_group(optimizer, 0, &other), HTONE_ERROR_INVALID_ARGUMENT,
               "options.min_8bit_size=0, expected the group's 4096");
  const htone_optimizer_options kept = adamw_group(optimizer, 0);
  assert_memory_equal(&kept, &own, sizeof own);
  htone_optimizer_options bf16 = own;
  bf16.compute_dtype = HTONE_BF16;
  htone_optimizer* narrow = make_adamw(one_by_one(1), &bf16);
  bf16.master_storage = HTONE_MASTER_SPLIT;
  assert_fails(htone_optimizer_set_group(narrow, 0, &bf16), HTONE_ERROR_INVALID_ARGUMENT,
               "options.master_storage=1, expected the group's 0");
  bf16.master_storage = HTONE_MASTER_FULL;
  bf16.grad_dtype = HTONE_BF16;
  assert_fails(htone_optimizer_set_group(narrow, 0, &bf16), HTONE_ERROR_INVALID_ARGUMENT, "grad_dtype");
}

static void a_moment_cannot_be_added_or_removed(void** state) {
  (void)state;
  htone_optimizer* plain = make_sgd(one_by_one(1), 0.5);
  htone_optimizer_options options = sgd_group(plain, 0);
  options.momentum = 0.5;
  assert_fails(htone_optimizer_set_group(plain, 0, &options), HTONE_ERROR_INVALID_ARGUMENT, "momentum");
  htone_optimizer* heavy = make_sgd_with(one_by_one(1), &options);
  options.momentum = 0.25;
  assert_ok(htone_optimizer_set_group(heavy, 0, &options));
  options.momentum = 0;
  assert_fails(htone_optimizer_set_group(heavy, 0, &options), HTONE_ERROR_INVALID_ARGUMENT, "momentum");
  assert_true(sgd_group(heavy, 0).momentum == 0.25);
}

static void other_kinds_groups_and_numbers_are_refused(void** state) {
  (void)state;
  htone_optimizer* optimizer = make_sgd(one_by_one(1), 0.5);
  htone_optimizer_options adamw;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &adamw));
  assert_fails(htone_optimizer_set_group(optimizer, 0, &adamw), HTONE_ERROR_INVALID_ARGUMENT,
               "options.kind is that of adamw, expected the optimizer's, sgd");
  htone_optimizer_options options = sgd_group(optimizer, 0);
  assert_fails(htone_optimizer_group(optimizer, 1, &options), HTONE_ERROR_INVALID_ARGUMENT, "index=1");
  assert_fails(htone_optimizer_set_group(optimizer, 1, &options), HTONE_ERROR_INVALID_ARGUMENT, "index=1");
  options.weight_decay = NAN;
  assert_fails(htone_optimizer_set_group(optimizer, 0, &options), HTONE_ERROR_INVALID_ARGUMENT, "options.weight_decay");
  assert_fails(htone_optimizer_set_group(optimizer, 0, NULL), HTONE_ERROR_INVALID_ARGUMENT, "options is NULL");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_group_tells_the_options_that_it_was_made_with),
      cmocka_unit_test(every_kind_tells_and_takes_its_options),
      cmocka_unit_test(an_older_program_gets_as_many_fields_as_it_knows),
      cmocka_unit_test(fields_that_an_older_program_lacks_stay_as_they_are),
      cmocka_unit_test(changed_settings_hold_from_the_next_step_on),
      cmocka_unit_test(each_group_is_changed_alone),
      cmocka_unit_test(the_learning_rate_is_that_of_set_group_lr),
      cmocka_unit_test(storage_cannot_change),
      cmocka_unit_test(a_moment_cannot_be_added_or_removed),
      cmocka_unit_test(other_kinds_groups_and_numbers_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
