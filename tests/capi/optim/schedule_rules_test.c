/* Linear, exponential, restarting, one-cycle and plateau schedules. The expected factors are the rates of PyTorch's
 * schedulers at a base rate of 1. */
#include <math.h>

#include "one_by_one.h"

static double factor_at(htone_schedule* schedule, int64_t position) {
  double factor = NAN;
  assert_ok(htone_schedule_factor(schedule, position, &factor));
  return factor;
}

#define assert_factors(schedule, expected) check_factors((schedule), (expected), COUNT_OF(expected), __FILE__, __LINE__)

static void check_factors(htone_schedule* schedule, const double* expected, size_t count, const char* file, int line) {
  for (size_t i = 0; i < count; ++i) {
    check_near(factor_at(schedule, (int64_t)i), expected[i], 1e-12, file, line);
  }
}

static const double kLinear[] = {0.25, 0.375, 0.5, 0.625, 0.75, 0.75, 0.75};
static const double kExponential[] = {1.0, 0.9, 0.81, 0.7290000000000001, 0.6561000000000001, 0.5904900000000002};
static const double kRestarts[] = {1.0,
                                   0.775,
                                   0.3250000000000001,
                                   1.0,
                                   0.9397114317029974,
                                   0.775,
                                   0.55,
                                   0.3250000000000001,
                                   0.16028856829700258,
                                   1.0,
                                   0.9846666218300807,
                                   0.9397114317029974,
                                   0.8681980515339464,
                                   0.775};
static const double kEvenRestarts[] = {1.0, 0.75, 0.2500000000000001, 1.0, 0.75, 0.2500000000000001, 1.0, 0.75};
static const double kOneCycle[] = {0.040000000000000036,
                                   0.52,
                                   1.0,
                                   0.9504846320134737,
                                   0.8117456539497631,
                                   0.6112620219362893,
                                   0.38874197806371075,
                                   0.18825834605023697,
                                   0.049519367986526286,
                                   4e-06};
static const double kLineCycle[] = {0.25,
                                    0.4375,
                                    0.625,
                                    0.8125,
                                    1.0,
                                    0.8049999999999999,
                                    0.61,
                                    0.41500000000000004,
                                    0.21999999999999997,
                                    0.025000000000000022};
static const double kThreePhases[] = {0.19999999999999996,
                                      0.3999999999999999,
                                      0.7999999999999999,
                                      1.0,
                                      0.8,
                                      0.40000000000000013,
                                      0.2,
                                      0.15050000000000002,
                                      0.051500000000000025,
                                      0.002};
static const double kShortCycle[] = {0.750001, 4e-06};

/* Reports, and the factor after each of them. */
static const double kMetrics[] = {1,   0.9, 0.95, 0.9, 0.89999, 0.5, 0.5, NAN, 0.6,
                                  0.4, 0.5, 0.5,  0.5, 0.5,     0.5, 0.5, 0.5, 0.5};
static const double kPlateau[] = {1.0,  1.0,  1.0,  1.0,   0.5,   0.5,   0.5,    0.5,    0.25,
                                  0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.0625, 0.0625, 0.0625};
static const double kPlateauCooldown[] = {1.0,  1.0,  1.0,  0.1,  0.1,  0.1,  0.1,  0.1,  0.05,
                                          0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05};
static const double kPlateauMax[] = {1.0,  1.0,  1.0,  1.0,   0.5,   0.5,   0.5,   0.5,    0.25,
                                     0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125, 0.0625, 0.0625};
static const double kPlateauEps[] = {1.0,  1.0,  0.5,  0.25, 0.25, 0.25, 0.25, 0.25, 0.25,
                                     0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25};

static htone_schedule* make_one_cycle(const htone_one_cycle_options* options) {
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_one_cycle(options, &schedule));
  return keep_schedule(schedule);
}

static htone_one_cycle_options one_cycle_of(int64_t total_steps) {
  htone_one_cycle_options options;
  assert_ok(htone_one_cycle_options_init(&options));
  options.total_steps = total_steps;
  return options;
}

static htone_schedule* make_plateau(const htone_plateau_options* options) {
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_plateau(options, &schedule));
  return keep_schedule(schedule);
}

static htone_plateau_options plateau_options(double factor, int64_t patience) {
  htone_plateau_options options;
  assert_ok(htone_plateau_options_init(&options));
  options.factor = factor;
  options.patience = patience;
  return options;
}

static void a_line_leads_from_one_factor_to_another(void** state) {
  (void)state;
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_linear(0.25, 0.75, 4, &schedule));
  assert_factors(keep_schedule(schedule), kLinear);
  assert_true(factor_at(schedule, INT64_MAX) == 0.75);
}

static void an_exponential_schedule_multiplies_in_every_step(void** state) {
  (void)state;
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_exponential(0.9, &schedule));
  assert_factors(keep_schedule(schedule), kExponential);
  assert_true(factor_at(schedule, INT64_MAX) == 0);
}

static void a_cosine_restarts_after_growing_periods(void** state) {
  (void)state;
  htone_schedule *growing = NULL, *even = NULL;
  assert_ok(htone_schedule_create_cosine_restarts(3, 2, 0.1, &growing));
  assert_factors(keep_schedule(growing), kRestarts);
  assert_ok(htone_schedule_create_cosine_restarts(3, 1, 0, &even));
  assert_factors(keep_schedule(even), kEvenRestarts);
  assert_true(factor_at(even, INT64_MAX - INT64_MAX % 3) == 1);
  const double late = factor_at(growing, INT64_MAX);
  assert_true(late >= 0.1 && late <= 1);
}

static void a_cycle_rises_and_falls_as_its_options_say(void** state) {
  (void)state;
  htone_one_cycle_options options = one_cycle_of(10);
  htone_schedule* schedule = make_one_cycle(&options);
  assert_factors(schedule, kOneCycle);
  assert_true(factor_at(schedule, INT64_MAX) == factor_at(schedule, 9));
  options.linear = 1;
  options.rise_share = 0.5;
  options.start_factor = 0.25;
  options.final_factor = 0.025;
  assert_factors(make_one_cycle(&options), kLineCycle);
  options = one_cycle_of(10);
  options.three_phases = 1;
  options.rise_share = 0.4;
  options.start_factor = 0.2;
  options.final_factor = 0.002;
  assert_factors(make_one_cycle(&options), kThreePhases);
  options = one_cycle_of(2);
  options.rise_share = 0.25;
  assert_factors(make_one_cycle(&options), kShortCycle);
}

/* Cases for which PyTorch divides by zero. */
static void a_cycle_of_one_step_and_a_rise_of_none_have_factors(void** state) {
  (void)state;
  htone_one_cycle_options options = one_cycle_of(1);
  assert_near(factor_at(make_one_cycle(&options), 0), options.final_factor, 1e-15);
  options.rise_share = 1;
  assert_near(factor_at(make_one_cycle(&options), 0), 1, 1e-15);
  options = one_cycle_of(10);
  options.rise_share = 0.1;
  assert_near(factor_at(make_one_cycle(&options), 0), 1, 1e-15);
}

static void a_cycle_of_three_phases_rises_for_half_of_it_at_most(void** state) {
  (void)state;
  htone_schedule* out = NULL;
  htone_one_cycle_options options = one_cycle_of(10);
  options.three_phases = 1;
  options.rise_share = 0.6;
  assert_fails(htone_schedule_create_one_cycle(&options, &out), HTONE_ERROR_INVALID_ARGUMENT, "options.rise_share=0.6");
  assert_null(out);
}

#define assert_reports(options, expected) check_reports((options), (expected), COUNT_OF(expected), __LINE__)

static void check_reports(const htone_plateau_options* options, const double* expected, size_t count, int line) {
  htone_schedule* schedule = make_plateau(options);
  assert_int_equal(count, COUNT_OF(kMetrics));
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_schedule_report(schedule, kMetrics[i]));
    check_near(factor_at(schedule, (int64_t)i), expected[i], 1e-12, __FILE__, line);
  }
}

static void a_plateau_lowers_the_rate_when_nothing_improves(void** state) {
  (void)state;
  htone_plateau_options options = plateau_options(0.5, 2);
  assert_reports(&options, kPlateau);
  options = plateau_options(0.1, 1);
  options.cooldown = 3;
  options.min_factor = 0.05;
  assert_reports(&options, kPlateauCooldown);
  options = plateau_options(0.5, 3);
  options.maximize = 1;
  options.threshold = 0.05;
  options.absolute_threshold = 1;
  assert_reports(&options, kPlateauMax);
  options = plateau_options(0.5, 0);
  options.epsilon = 0.2;
  assert_reports(&options, kPlateauEps);
}

static void the_defaults_are_those_of_pytorch(void** state) {
  (void)state;
  htone_plateau_options plateau;
  htone_one_cycle_options cycle;
  assert_ok(htone_plateau_options_init(&plateau));
  assert_true(plateau.factor == 0.1 && plateau.patience == 10 && plateau.threshold == 1e-4 && plateau.epsilon == 1e-8);
  assert_true(plateau.maximize == 0 && plateau.cooldown == 0 && plateau.min_factor == 0 &&
              plateau.absolute_threshold == 0);
  assert_ok(htone_one_cycle_options_init(&cycle));
  assert_true(cycle.rise_share == 0.3 && cycle.start_factor == 0.04 && cycle.linear == 0 && cycle.three_phases == 0);
  assert_near(cycle.final_factor, 4e-6, 1e-20);
}

static void optimizers_share_the_progress_of_a_plateau(void** state) {
  (void)state;
  const htone_plateau_options options = plateau_options(0.5, 0);
  htone_schedule* schedule = make_plateau(&options);
  htone_module *first = one_by_one(0), *second = one_by_one(0);
  htone_optimizer *one = make_sgd(first, 1), *two = make_sgd(second, 1);
  assert_ok(htone_optimizer_set_schedule(one, schedule));
  assert_ok(htone_optimizer_set_schedule(two, schedule));
  train_one_step(one, first, 1);
  assert_near(value_of(first, 0), -1, 0);
  assert_ok(htone_schedule_report(schedule, 1));
  assert_ok(htone_schedule_report(schedule, 2));
  train_one_step(one, first, 1);
  train_one_step(two, second, 1);
  assert_near(value_of(first, 0), -1.5, 0);
  assert_near(value_of(second, 0), -0.5, 0);
}

static void a_warm_up_leads_to_any_of_them(void** state) {
  (void)state;
  const htone_plateau_options options = plateau_options(0.5, 0);
  htone_schedule *plateau = make_plateau(&options), *warmup = NULL;
  assert_ok(htone_schedule_create_warmup(2, 0, plateau, &warmup));
  keep_schedule(warmup);
  assert_ok(htone_schedule_report(warmup, 1));
  assert_ok(htone_schedule_report(warmup, 1));
  assert_true(factor_at(warmup, 1) == 0.5 && factor_at(warmup, 2) == 0.5 && factor_at(plateau, 0) == 0.5);
  htone_schedule *line = NULL, *after = NULL;
  assert_ok(htone_schedule_create_linear(1, 0, 4, &line));
  assert_ok(htone_schedule_create_warmup(2, 0, keep_schedule(line), &after));
  assert_true(factor_at(keep_schedule(after), 4) == 0.5);
}

static void other_schedules_take_no_reports(void** state) {
  (void)state;
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_exponential(0.9, &schedule));
  assert_fails(htone_schedule_report(keep_schedule(schedule), 1), HTONE_ERROR_STATE, "schedule");
}

/* Saves an optimizer under `from` as the checkpoint of a step, and loads it into one under `to`. */
static void resume(htone_schedule* from, htone_schedule* to, int64_t step) {
  int64_t loaded = -1;
  htone_schedule* const schedules[] = {from, to};
  for (int i = 0; i < 2; ++i) {
    htone_checkpoint* checkpoint = NULL;
    htone_optimizer* optimizer = make_sgd(one_by_one(0), 1);
    assert_ok(htone_optimizer_set_schedule(optimizer, schedules[i]));
    assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
    assert_ok(htone_checkpoint_add_optimizer(checkpoint, "optimizer", optimizer));
    assert_ok(i == 0 ? htone_checkpoint_save(checkpoint, step) : htone_checkpoint_load(checkpoint, &loaded));
    assert_ok(htone_checkpoint_release(checkpoint));
  }
  assert_int_equal(loaded, step);
}

static void a_checkpoint_keeps_the_progress_of_a_plateau(void** state) {
  (void)state;
  htone_plateau_options options = plateau_options(0.5, 2);
  options.cooldown = 1;
  for (size_t stop = 0; stop <= COUNT_OF(kMetrics); stop += 3) {
    htone_schedule *straight = make_plateau(&options), *resumed = make_plateau(&options);
    for (size_t i = 0; i < stop; ++i) assert_ok(htone_schedule_report(straight, kMetrics[i]));
    resume(straight, resumed, (int64_t)stop);
    for (size_t i = stop; i < COUNT_OF(kMetrics); ++i) {
      assert_ok(htone_schedule_report(straight, kMetrics[i]));
      assert_ok(htone_schedule_report(resumed, kMetrics[i]));
      assert_true(factor_at(straight, 0) == factor_at(resumed, 0));
    }
  }
}

static void a_plateau_goes_on_where_the_checkpoint_has_none(void** state) {
  (void)state;
  const htone_plateau_options options = plateau_options(0.5, 0);
  htone_schedule *plateau = make_plateau(&options), *constant = NULL;
  assert_ok(htone_schedule_create_constant(&constant));
  assert_ok(htone_schedule_report(plateau, 1));
  assert_ok(htone_schedule_report(plateau, 1));
  resume(keep_schedule(constant), plateau, 1);
  assert_true(factor_at(plateau, 0) == 0.5);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_leads_from_one_factor_to_another),
      cmocka_unit_test(an_exponential_schedule_multiplies_in_every_step),
      cmocka_unit_test(a_cosine_restarts_after_growing_periods),
      cmocka_unit_test(a_cycle_rises_and_falls_as_its_options_say),
      cmocka_unit_test(a_cycle_of_one_step_and_a_rise_of_none_have_factors),
      cmocka_unit_test(a_cycle_of_three_phases_rises_for_half_of_it_at_most),
      cmocka_unit_test(a_plateau_lowers_the_rate_when_nothing_improves),
      cmocka_unit_test(the_defaults_are_those_of_pytorch),
      cmocka_unit_test(optimizers_share_the_progress_of_a_plateau),
      cmocka_unit_test(a_warm_up_leads_to_any_of_them),
      cmocka_unit_test(other_schedules_take_no_reports),
      cmocka_unit_test(a_checkpoint_keeps_the_progress_of_a_plateau),
      cmocka_unit_test(a_plateau_goes_on_where_the_checkpoint_has_none),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
