/* Learning-rate schedules by their factors. */
#include <math.h>

#include "halftone/halftone.h"
#include "run_tests.h"

static double factor_at(htone_schedule* schedule, int64_t position) {
  double factor = NAN;
  assert_ok(htone_schedule_factor(schedule, position, &factor));
  return factor;
}

static htone_schedule* make_cosine(int64_t total_steps, double final_factor) {
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_cosine(total_steps, final_factor, &schedule));
  return keep_schedule(schedule);
}

static htone_schedule* make_warmup(int64_t steps, double start, htone_schedule* after) {
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_warmup(steps, start, after, &schedule));
  return keep_schedule(schedule);
}

static void a_constant_schedule_is_one_for_ever(void** state) {
  (void)state;
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_constant(&schedule));
  keep_schedule(schedule);
  assert_true(factor_at(schedule, 0) == 1);
  assert_true(factor_at(schedule, INT64_MAX) == 1);
}

static void a_cosine_falls_from_one_to_its_end_and_stays(void** state) {
  (void)state;
  htone_schedule* schedule = make_cosine(4, 0.2);
  assert_true(factor_at(schedule, 0) == 1);
  assert_float_equal(factor_at(schedule, 1), 0.2 + 0.8 * (1 + sqrt(0.5)) / 2, 1e-15);
  assert_float_equal(factor_at(schedule, 2), 0.6, 1e-15);
  assert_true(factor_at(schedule, 4) == 0.2);
  assert_true(factor_at(schedule, INT64_MAX) == 0.2);
}

static void a_step_schedule_multiplies_every_so_many_steps(void** state) {
  (void)state;
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_step(3, 0.5, &schedule));
  keep_schedule(schedule);
  static const double expected[] = {1, 1, 1, 0.5, 0.5, 0.5, 0.25};
  for (int i = 0; i < 7; ++i) assert_true(factor_at(schedule, i) == expected[i]);
}

static void a_warm_up_climbs_to_where_the_other_begins(void** state) {
  (void)state;
  htone_schedule* cosine = make_cosine(4, 0);
  htone_schedule* schedule = make_warmup(4, 0.2, cosine);
  static const double climb[] = {0.2, 0.4, 0.6, 0.8};
  for (int i = 0; i < 4; ++i) assert_float_equal(factor_at(schedule, i), climb[i], 1e-15);
  for (int i = 0; i < 6; ++i) assert_true(factor_at(schedule, 4 + i) == factor_at(cosine, i));
}

static void a_warm_up_before_a_warm_up_is_refused(void** state) {
  (void)state;
  htone_schedule* out = NULL;
  htone_schedule* once = make_warmup(4, 0.2, make_cosine(4, 0));
  assert_fails(htone_schedule_create_warmup(4, 0.2, once, &out), HTONE_INVALID_ARGUMENT, "after");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_constant_schedule_is_one_for_ever),
      cmocka_unit_test(a_cosine_falls_from_one_to_its_end_and_stays),
      cmocka_unit_test(a_step_schedule_multiplies_every_so_many_steps),
      cmocka_unit_test(a_warm_up_climbs_to_where_the_other_begins),
      cmocka_unit_test(a_warm_up_before_a_warm_up_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
