/* Learning-rate schedules, checked by their factors. */
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
  assert_fails(htone_schedule_create_warmup(4, 0.2, once, &out), HTONE_ERROR_INVALID_ARGUMENT, "after");
  assert_null(out);
}

/* A caller's schedule: returns `factor`, or fails with `status`, and counts its calls. */
typedef struct Host {
  double factor;
  htone_status status;
  int calls, destroyed;
  int64_t position;
} Host;

static htone_status answer(int64_t position, double* out_factor, void* user) {
  Host* host = user;
  ++host->calls;
  host->position = position;
  *out_factor = host->factor;
  return host->status == HTONE_OK ? HTONE_OK : htone_error_set(host->status, "the user stopped it");
}

static void destroy_host(void* user) { ++((Host*)user)->destroyed; }

static htone_schedule* make_callback(Host* host) {
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_callback(answer, host, destroy_host, &schedule));
  return schedule;
}

static void a_callback_is_asked_for_the_factor_at_a_position(void** state) {
  (void)state;
  Host host = {.factor = 0.75};
  htone_schedule* schedule = make_callback(&host);
  assert_true(factor_at(schedule, 5) == 0.75);
  assert_true(host.calls == 1 && host.position == 5);
  host.factor = 3;
  assert_true(factor_at(schedule, 0) == 3);
  assert_ok(htone_schedule_release(schedule));
  assert_int_equal(host.destroyed, 1);
}

static void a_callback_follows_a_warm_up_and_does_not_see_it(void** state) {
  (void)state;
  static Host host; /* static: the kept schedule still calls it after the test's body */
  host = (Host){.factor = 2};
  htone_schedule* callback = make_callback(&host);
  htone_schedule* schedule = make_warmup(4, 0, callback);
  assert_ok(htone_schedule_release(callback)); /* the other schedule keeps it */
  assert_true(host.destroyed == 0 && factor_at(schedule, 2) == 0.5 && host.calls == 0);
  assert_true(factor_at(schedule, 7) == 2 && host.position == 3);
}

/* A20 */
static void a_callback_that_fails_is_told_with_its_code(void** state) {
  (void)state;
  static Host host;
  host = (Host){.factor = 1, .status = HTONE_ERROR_CANCELLED};
  htone_schedule* schedule = keep_schedule(make_callback(&host));
  double factor = -1;
  assert_fails(htone_schedule_factor(schedule, 3, &factor), HTONE_ERROR_CALLBACK,
               "the schedule's callback at position 3 returned 16 (CANCELLED): the user stopped it");
  assert_int_equal(last_native_code(), HTONE_ERROR_CANCELLED);
  host.status = HTONE_OK;
  static const double kWrong[] = {-0.5, NAN, INFINITY};
  for (size_t i = 0; i < COUNT_OF(kWrong); ++i) {
    host.factor = kWrong[i];
    assert_fails(htone_schedule_factor(schedule, 3, &factor), HTONE_ERROR_INVALID_ARGUMENT, "factor");
  }
  assert_true(factor == -1);
}

static void a_callback_that_was_not_taken_stays_the_callers(void** state) {
  (void)state;
  Host host = {.factor = 1};
  assert_fails(htone_schedule_create_callback(answer, &host, destroy_host, NULL), HTONE_ERROR_INVALID_ARGUMENT, "out");
  assert_int_equal(host.destroyed, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_constant_schedule_is_one_for_ever),
      cmocka_unit_test(a_cosine_falls_from_one_to_its_end_and_stays),
      cmocka_unit_test(a_step_schedule_multiplies_every_so_many_steps),
      cmocka_unit_test(a_warm_up_climbs_to_where_the_other_begins),
      cmocka_unit_test(a_warm_up_before_a_warm_up_is_refused),
      cmocka_unit_test(a_callback_is_asked_for_the_factor_at_a_position),
      cmocka_unit_test(a_callback_follows_a_warm_up_and_does_not_see_it),
      cmocka_unit_test(a_callback_that_fails_is_told_with_its_code),
      cmocka_unit_test(a_callback_that_was_not_taken_stays_the_callers),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
