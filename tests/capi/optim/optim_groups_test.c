/* Optimizers over groups of parameters: settings and storage per group, one norm and one schedule for all groups. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "one_by_one.h"

/* Weights use `lr`, biases use `bias_lr`. */
static htone_optimizer* make_groups(htone_module* module, double lr, double bias_lr) {
  const htone_optimizer_options weights = sgd_options(lr), biases = sgd_options(bias_lr);
  htone_optimizer* optimizer = make_sgd_over(parameters_matching(module, "*weight"), &weights);
  assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(module, "*bias"), &biases));
  return optimizer;
}

static size_t group_count_of(htone_optimizer* optimizer) {
  size_t count = 99;
  assert_ok(htone_optimizer_group_count(optimizer, &count));
  return count;
}

static double group_lr_of(htone_optimizer* optimizer, size_t index) {
  double lr = -1;
  assert_ok(htone_optimizer_group_lr(optimizer, index, &lr));
  return lr;
}

static void every_group_has_a_rate_of_its_own(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer* optimizer = make_groups(module, 0.5, 0.125);
  assert_int_equal(group_count_of(optimizer), 2);
  train_one_step(optimizer, module, 1);
  assert_near(value_of(module, 0), 0.5, 0);
  assert_near(value_of(module, 1), 0.875, 0);
  assert_ok(htone_optimizer_set_group_lr(optimizer, 1, 0.25));
  train_one_step(optimizer, module, 1);
  assert_near(value_of(module, 0), 0, 0);
  assert_near(value_of(module, 1), 0.625, 0);
}

static void a_schedule_multiplies_the_rate_of_every_group(void** state) {
  (void)state;
  htone_module* module = one_by_one(0);
  htone_optimizer* optimizer = make_groups(module, 0.5, 0.125);
  htone_schedule* schedule = NULL;
  double first = -1;
  assert_ok(htone_schedule_create_step(1, 0.5, &schedule));
  assert_ok(htone_optimizer_set_schedule(optimizer, keep_schedule(schedule)));
  train_one_step(optimizer, module, 1);
  assert_near(group_lr_of(optimizer, 0), 0.25, 0);
  assert_near(group_lr_of(optimizer, 1), 0.0625, 0);
  assert_ok(htone_optimizer_lr(optimizer, &first));
  assert_near(first, 0.25, 0);
  train_one_step(optimizer, module, 1);
  assert_near(value_of(module, 0), -0.75, 0);
  assert_near(value_of(module, 1), -0.1875, 0);
}

/* Records the positions that a caller's schedule was called with, and whether it was destroyed. */
typedef struct Host {
  int64_t positions[8];
  int calls, destroyed;
  htone_status status;
} Host;

static htone_status halve_each_time(int64_t position, double* out_factor, void* user) {
  Host* host = user;
  host->positions[host->calls++ % 8] = position;
  *out_factor = pow(0.5, (double)position);
  return host->status;
}

static void destroy_host(void* user) { ++((Host*)user)->destroyed; }

static void a_schedule_of_the_host_is_asked_once_a_step_and_sees_no_skipped_one(void** state) {
  (void)state;
  Host host = {.calls = 0};
  htone_module* module = one_by_one(0);
  htone_optimizer* optimizer = make_groups(module, 0.5, 0.125);
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_callback(halve_each_time, &host, destroy_host, &schedule));
  assert_ok(htone_optimizer_set_schedule(optimizer, schedule));
  assert_ok(htone_schedule_release(schedule));
  assert_int_equal(host.destroyed, 0);
  train_one_step(optimizer, module, 1);
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  give_gradient(module, 0, INFINITY);
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  train_one_step(optimizer, module, 1);
  assert_int_equal(host.calls, 3);
  assert_true(host.positions[0] == 0 && host.positions[1] == 1 && host.positions[2] == 1);
  assert_near(value_of(module, 0), -0.5 - 0.25, 0);
  assert_near(value_of(module, 1), -0.125 - 0.0625, 0);
  assert_near(group_lr_of(optimizer, 1), 0.03125, 0);
  assert_ok(htone_schedule_create_constant(&schedule));
  assert_ok(htone_optimizer_set_schedule(optimizer, keep_schedule(schedule)));
  assert_int_equal(host.destroyed, 1);
}

static void nothing_is_stepped_where_the_hosts_schedule_fails(void** state) {
  (void)state;
  Host host = {.status = HTONE_ERROR_TIMEOUT};
  htone_module* module = one_by_one(1);
  htone_optimizer* optimizer = make_groups(module, 0.5, 0.5);
  htone_schedule* schedule = NULL;
  int64_t count = -1;
  assert_ok(htone_schedule_create_callback(halve_each_time, &host, NULL, &schedule));
  assert_ok(htone_optimizer_set_schedule(optimizer, keep_schedule(schedule)));
  give_gradient(module, 0, 1);
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_CALLBACK, "TIMEOUT");
  assert_near(value_of(module, 0), 1, 0);
  assert_ok(htone_optimizer_step_count(optimizer, &count));
  assert_int_equal(count, 0);
  host.status = HTONE_OK;
  assert_ok(htone_optimizer_step(optimizer)); /* with the gradient of the failed step */
  assert_near(value_of(module, 0), 0.5, 0);
}

static void decay_and_betas_are_those_of_the_group(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer_options decaying, still;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &decaying));
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &still));
  decaying.lr = 0.1;
  decaying.weight_decay = 0.5;
  still.weight_decay = 0;
  still.lr = 0.01;
  still.beta1 = still.beta2 = 0;
  assert_ok(htone_optimizer_create_over(parameters_matching(module, "weight"), &decaying, &optimizer));
  assert_ok(htone_optimizer_add_group(keep_optimizer(optimizer), parameters_matching(module, "bias"), &still));
  train_one_step(optimizer, module, 1);
  train_one_step(optimizer, module, 2);
  /* The weight: 1 - 0.05 - 0.1, then moments of 0.29 / 0.19 and sqrt(0.004999 / 0.001999) for the gradients 1 and 2. */
  const double mean = 0.29 / 0.19, deviation = sqrt(0.004999 / 0.001999);
  assert_near(value_of(module, 0), 0.85 * 0.95 - 0.1 * mean / deviation, 1e-6);
  assert_near(value_of(module, 1), 0.98, 1e-6);
}

static void storage_is_that_of_the_group(void** state) {
  (void)state;
  htone_module* module = one_by_one(0.3);
  htone_optimizer_options split;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &split));
  split.compute_dtype = split.grad_dtype = split.moment1_dtype = HTONE_BF16;
  split.master_storage = HTONE_MASTER_SPLIT;
  assert_ok(htone_optimizer_create_over(parameters_matching(module, "weight"), &split, &optimizer));
  assert_ok(htone_optimizer_add_group(keep_optimizer(optimizer), parameters_matching(module, "bias"), NULL));
  assert_int_equal(dtype_of(weights_of(module, 0)), HTONE_BF16);
  assert_int_equal(dtype_of(weights_of(module, 1)), HTONE_F32);
  train_one_step(optimizer, module, 1);
  assert_int_equal(dtype_of(grad_of(weights_of(module, 0))), HTONE_BF16);
  assert_int_equal(dtype_of(grad_of(weights_of(module, 1))), HTONE_F32);
  assert_near(value_of(module, 0), value_of(module, 1), 1e-7);
  assert_near(value_of(module, 0), 0.3 - 1e-3 - 3e-6, 1e-7);
}

/* A group's moments and bias corrections start with the group: its steps equal those of a new optimizer. */
static void a_group_added_late_trains_as_a_new_optimizer_does(void** state) {
  (void)state;
  htone_module *late = one_by_one(1), *fresh = one_by_one(1);
  htone_optimizer *grown = NULL, *other = NULL;
  assert_ok(htone_optimizer_create_over(parameters_matching(late, "weight"), NULL, &grown));
  keep_optimizer(grown);
  for (int step = 0; step < 7; ++step) {
    give_gradient(late, 0, 1);
    assert_ok(htone_optimizer_step(grown));
  }
  assert_ok(htone_optimizer_add_group(grown, parameters_matching(late, "bias"), NULL));
  assert_ok(htone_optimizer_create_over(parameters_matching(fresh, "bias"), NULL, &other));
  keep_optimizer(other);
  for (int step = 0; step < 3; ++step) {
    train_one_step(grown, late, 1 + step);
    assert_ok(htone_optimizer_zero_grad(other));
    give_gradient(fresh, 1, 1 + step);
    assert_ok(htone_optimizer_step(other));
    assert_near(value_of(late, 1), value_of(fresh, 1), 0);
  }
}

static void a_parameter_is_in_one_group_alone(void** state) {
  (void)state;
  htone_module* parts[] = {one_by_one(1), one_by_one(1)};
  htone_module* module = make_sequential(2, parts);
  const htone_optimizer_options options = sgd_options(1);
  htone_optimizer *optimizer = make_sgd_over(parameters_matching(module, "1.bias"), &options), *other = NULL;
  assert_fails(htone_optimizer_add_group(optimizer, parameters_matching(module, "*.*"), &options), HTONE_ERROR_STATE,
               "1.bias");
  assert_fails(htone_optimizer_create_over(parameters_of_module(module), &options, &other), HTONE_ERROR_STATE,
               "1.bias");
  assert_null(other);
  assert_int_equal(group_count_of(optimizer), 1);
  assert_ok(
      /* the failed call left them free */
      htone_optimizer_add_group(optimizer, parameters_matching(module, "0.*"), &options));
}

static void a_group_needs_parameters_and_an_optimizer_of_its_kind(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer *optimizer = NULL, *none = NULL;
  assert_fails(htone_optimizer_create_over(parameters_matching(module, "nothing*"), NULL, &none), HTONE_ERROR_STATE,
               "parameters");
  assert_ok(htone_optimizer_create_over(parameters_matching(module, "weight"), NULL, &optimizer));
  keep_optimizer(optimizer);
  assert_fails(htone_optimizer_add_group(optimizer, parameters_matching(module, "nothing*"), NULL), HTONE_ERROR_STATE,
               "parameters");
  for (int kind = HTONE_OPTIMIZER_ADAM; kind <= HTONE_OPTIMIZER_ADAFACTOR; ++kind) {
    htone_optimizer_options other;
    assert_ok(htone_optimizer_options_init((htone_optimizer_kind)kind, &other));
    assert_fails(htone_optimizer_add_group(optimizer, parameters_matching(module, "bias"), &other),
                 HTONE_ERROR_INVALID_ARGUMENT, "expected the optimizer's, adamw");
  }
  assert_int_equal(group_count_of(optimizer), 1);
  double lr = -1;
  assert_fails(htone_optimizer_group_lr(optimizer, 1, &lr), HTONE_ERROR_INVALID_ARGUMENT, "index=1 is outside [0, 1)");
}

static void the_norm_and_its_clip_are_over_all_groups(void** state) {
  (void)state;
  htone_module* module = one_by_one(0);
  htone_optimizer* optimizer = make_groups(module, 1, 2);
  double norm = -1;
  give_gradient(module, 0, 3);
  give_gradient(module, 1, 4);
  assert_ok(htone_optimizer_grad_norm(optimizer, &norm));
  assert_near(norm, 5, 1e-6);
  assert_ok(htone_optimizer_clip_grad_norm(optimizer, 1, 0));
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(value_of(module, 0), -0.6, 1e-6);
  assert_near(value_of(module, 1), -1.6, 1e-6);
}

static void a_step_is_skipped_for_all_groups_and_the_offender_named(void** state) {
  (void)state;
  htone_module* parts[] = {one_by_one(1)};
  htone_module* module = make_sequential(1, parts);
  htone_optimizer* optimizer = make_groups(module, 1, 1);
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  give_gradient(module, 0, 1);
  give_gradient(module, 1, INFINITY);
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_true(outcome_of(optimizer).skipped != 0);
  assert_string_equal(outcome_of(optimizer).parameter, "0.bias");
  assert_near(value_of(module, 0), 1, 0);
  assert_near(value_of(module, 1), 1, 0);
}

static void no_group_comes_between_unscale_and_step(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  const htone_optimizer_options options = sgd_options(1);
  htone_optimizer* optimizer = make_sgd_over(parameters_matching(module, "weight"), &options);
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  give_gradient(module, 0, 1);
  assert_ok(htone_grad_scaler_unscale(scaler, optimizer));
  assert_fails(htone_optimizer_add_group(optimizer, parameters_matching(module, "bias"), &options), HTONE_ERROR_STATE,
               "unscaled");
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(module, "bias"), &options));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_group_has_a_rate_of_its_own),
      cmocka_unit_test(a_schedule_multiplies_the_rate_of_every_group),
      cmocka_unit_test(a_schedule_of_the_host_is_asked_once_a_step_and_sees_no_skipped_one),
      cmocka_unit_test(nothing_is_stepped_where_the_hosts_schedule_fails),
      cmocka_unit_test(decay_and_betas_are_those_of_the_group),
      cmocka_unit_test(storage_is_that_of_the_group),
      cmocka_unit_test(a_group_added_late_trains_as_a_new_optimizer_does),
      cmocka_unit_test(a_parameter_is_in_one_group_alone),
      cmocka_unit_test(a_group_needs_parameters_and_an_optimizer_of_its_kind),
      cmocka_unit_test(the_norm_and_its_clip_are_over_all_groups),
      cmocka_unit_test(a_step_is_skipped_for_all_groups_and_the_offender_named),
      cmocka_unit_test(no_group_comes_between_unscale_and_step),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
