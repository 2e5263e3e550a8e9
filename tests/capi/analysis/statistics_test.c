/* The record of a run through the C API: what a step did, the file that it writes, and the errors of its calls. */
#include "halftone/statistics.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_optimizers.h"

static htone_statistics* make_statistics(const htone_statistics_options* options) {
  htone_statistics* made = NULL;
  assert_ok(htone_statistics_create(test_device(), options, &made));
  return keep_statistics(made);
}

static const char* path_of_run(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/run.jsonl", test_folder());
  return path;
}

static void take_step(htone_statistics* statistics, double loss) {
  assert_ok(htone_statistics_begin_step(statistics));
  assert_ok(htone_statistics_end_step(statistics, loss, 4));
}

static htone_step_record step_of(htone_statistics* statistics, int64_t step) {
  htone_step_record record = HTONE_STEP_RECORD_INIT;
  assert_ok(htone_statistics_step(statistics, step, &record));
  return record;
}

static htone_run_summary summary_of(htone_statistics* statistics) {
  htone_run_summary summary = HTONE_RUN_SUMMARY_INIT;
  assert_ok(htone_statistics_summary(statistics, &summary));
  return summary;
}

/* The whole file with a zero byte behind it; empty if there is none. The caller frees it. */
static char* read_file(const char* path) {
  char* text = calloc(1, 1 << 20);
  assert_non_null(text);
  FILE* file = fopen(path, "rb");
  if (file == NULL) return text;
  assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
  fclose(file);
  return text;
}

/* The part is in exactly one line of the file, which begins with the step. */
static void assert_line(int64_t step, const char* part) {
  char begin[64];
  char* text = read_file(path_of_run());
  char* found = strstr(text, part);
  assert_non_null(found);
  assert_null(strstr(found + 1, part));
  while (found > text && found[-1] != '\n') --found;
  snprintf(begin, sizeof begin, "{\"step\":%d,\"record\":", (int)step);
  assert_int_equal(strncmp(found, begin, strlen(begin)), 0);
  free(text);
}

/* A model of two layers that trains in the FP16 manner: with a loss scale that grows every two steps. */
typedef struct Training {
  htone_statistics* statistics;
  htone_module* model;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_tensor* input;
} Training;

static Training make_training(void) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = 1024;
  options.growth_interval = 2;
  htone_module* layers[] = {make_linear(test_device(), 3, 4, 1), make_linear(test_device(), 4, 2, 1)};
  Training made = {make_statistics(NULL), make_sequential(2, layers), NULL, make_grad_scaler(&options), NULL};
  made.optimizer = make_sgd(made.model, 0.01);
  made.input = make_noise(HTONE_F32, 1, 2, 256, 3);
  assert_ok(htone_statistics_set_optimizer(made.statistics, made.optimizer, made.scaler));
  return made;
}

static void add_infinity(const Training* training, size_t parameter) {
  htone_tensor* gradient = NULL;
  assert_ok(htone_tensor_full_like(weights_of(training->model, parameter), INFINITY, &gradient));
  assert_ok(htone_parameter_accumulate_grad(parameter_of(training->model, parameter), keep_tensor(gradient)));
}

/* `infinite` is the number of a parameter whose gradient overflows; -1: none. */
static void train_step(const Training* training, int infinite) {
  htone_statistics* statistics = training->statistics;
  assert_ok(htone_statistics_begin_step(statistics));
  assert_ok(htone_statistics_begin_part(statistics, HTONE_STEP_PART_FORWARD));
  htone_tensor* loss = sum_of(forward(training->model, training->input));
  assert_ok(htone_statistics_begin_part(statistics, HTONE_STEP_PART_BACKWARD));
  assert_ok(htone_optimizer_zero_grad(training->optimizer));
  backward_scaled(training->scaler, loss);
  if (infinite >= 0) add_infinity(training, (size_t)infinite);
  assert_ok(htone_statistics_begin_part(statistics, HTONE_STEP_PART_OPTIMIZER));
  assert_ok(htone_grad_scaler_unscale(training->scaler, training->optimizer));
  assert_ok(htone_grad_scaler_step(training->scaler, training->optimizer));
  assert_ok(htone_grad_scaler_update(training->scaler));
  assert_ok(htone_statistics_end_step(statistics, item_of(loss), 4));
}

static void an_overflow_names_the_tensor_and_the_scales_are_kept(void** state) {
  (void)state;
  const double scales[] = {1024, 1024, 2048, 2048, 1024, 1024, 2048};
  const Training training = make_training();
  assert_ok(htone_statistics_write_to(training.statistics, path_of_run()));
  for (int i = 0; i < 7; ++i) train_step(&training, i == 3 ? 3 : -1);
  for (int i = 0; i < 7; ++i) {
    const htone_step_record step = step_of(training.statistics, i + 1);
    assert_int_equal(step.step, i + 1);
    assert_int_equal(step.outcome, i == 3 ? HTONE_RECORDED_SKIPPED : HTONE_RECORDED_STEPPED);
    assert_string_equal(step.overflow, i == 3 ? "1.bias" : "");
    assert_true(step.loss_scale == scales[i]);
    assert_true(step.lr == 0.01);
    assert_int_equal(step.items, 4);
  }
  assert_int_equal(summary_of(training.statistics).skipped, 1);
  assert_line(4, "\"outcome\":\"skipped\",\"overflow\":\"1.bias\",\"grad_norm\":null");
  htone_spike spike = HTONE_SPIKE_INIT;
  assert_fails(htone_statistics_last_spike(training.statistics, &spike), HTONE_ERROR_STATE, "no spike");
}

static void a_step_has_times_memory_and_the_norm(void** state) {
  (void)state;
  const Training training = make_training();
  train_step(&training, -1);
  const htone_step_record step = step_of(training.statistics, 1);
  assert_near(
      step.data_seconds + step.forward_seconds + step.backward_seconds + step.optimizer_seconds + step.other_seconds,
      step.seconds, 1e-12);
  assert_true(step.forward_seconds > 0 && step.backward_seconds > 0 && step.optimizer_seconds > 0);
  assert_true(step.data_seconds == 0 && step.other_seconds > 0);
  assert_near(summary_of(training.statistics).mean_forward_seconds, step.forward_seconds, 1e-12);
  assert_near(step.items_per_second * step.seconds, 4, 1e-9);
  /* 3 * 4 + 4 + 4 * 2 + 2 weights. The outputs of both layers were in use when the gradients began. */
  assert_int_equal(step.memory[HTONE_MEMORY_PARAMETERS], 26 * 4);
  assert_true(step.memory[HTONE_MEMORY_ACTIVATIONS] >= 256 * (4 + 2) * 4);
  assert_true(step.peak_memory > 26 * 4);
  assert_true(step.grad_norm > 0);
}

static void a_record_without_an_optimizer_has_what_it_is_given(void** state) {
  (void)state;
  htone_statistics* statistics = make_statistics(NULL);
  take_step(statistics, 2.5);
  const htone_step_record step = step_of(statistics, 1);
  assert_int_equal(step.outcome, HTONE_RECORDED_UNKNOWN);
  assert_true(step.loss == 2.5 && step.lr == 0 && step.loss_scale == 0 && step.grad_norm == 0);
}

static void the_ring_has_the_last_steps_and_the_summary_counts_all(void** state) {
  (void)state;
  htone_statistics_options options = HTONE_STATISTICS_OPTIONS_INIT;
  options.capacity = 3;
  htone_statistics* statistics = make_statistics(&options);
  assert_true(isnan(summary_of(statistics).last_loss) && isnan(summary_of(statistics).mean_loss));
  for (int i = 1; i <= 5; ++i) take_step(statistics, i);
  const htone_run_summary summary = summary_of(statistics);
  assert_int_equal(summary.steps, 5);
  assert_int_equal(summary.recorded, 5);
  assert_int_equal(summary.kept, 3);
  assert_true(summary.last_loss == 5 && summary.mean_loss == 4);
  assert_near(summary.items_per_second * summary.mean_seconds, 4, 1e-9);
  htone_step_record record = HTONE_STEP_RECORD_INIT;
  assert_fails(htone_statistics_step(statistics, 2, &record), HTONE_ERROR_INVALID_ARGUMENT,
               "step=2 is not in memory; the last step is 5");
  assert_fails(htone_statistics_step(statistics, 6, &record), HTONE_ERROR_INVALID_ARGUMENT, "step=6 is not");
}

static void a_shorter_structure_gets_its_part_and_an_ended_text(void** state) {
  (void)state;
  const Training training = make_training();
  train_step(&training, 0);
  htone_step_record record = HTONE_STEP_RECORD_INIT;
  memset(record.overflow, 'x', sizeof record.overflow);
  record.struct_size = (uint32_t)offsetof(htone_step_record, overflow) + 4;
  assert_ok(htone_statistics_step(training.statistics, 1, &record));
  assert_memory_equal(record.overflow, "0.w\0x", 5);
}

static void a_run_that_goes_on_keeps_its_lines(void** state) {
  (void)state;
  htone_statistics_options options = HTONE_STATISTICS_OPTIONS_INIT;
  options.label = "bf16 \"run\"";
  htone_statistics* first = make_statistics(&options);
  assert_ok(htone_statistics_write_to(first, path_of_run()));
  for (int i = 1; i <= 4; ++i) take_step(first, i + 0.125);
  assert_ok(htone_statistics_flush(first));
  htone_statistics* second = make_statistics(NULL);
  assert_ok(htone_statistics_set_step_count(second, 2));
  assert_ok(htone_statistics_write_to(second, path_of_run()));
  take_step(second, 30.125);
  assert_line(0, "\"record\":\"run\",\"version\":1,\"library\":\"" HTONE_VERSION_TEXT
                 "\",\"label\":\"bf16 \\\"run\\\"\",\"device\":\"cpu\",\"threads\":2");
  assert_line(2, "\"loss\":2.125,");
  assert_line(3, "\"loss\":30.125,");
  char* text = read_file(path_of_run());
  assert_null(strstr(text, "\"loss\":3.125,"));
  assert_null(strstr(text, "\"loss\":4.125,"));
  free(text);
  assert_fails(htone_statistics_set_step_count(second, 9), HTONE_ERROR_STATE, "writes a file already");
}

static void events_are_lines_of_the_file(void** state) {
  (void)state;
  htone_statistics* statistics = make_statistics(NULL);
  assert_ok(htone_statistics_add_checkpoint(statistics));
  assert_ok(htone_statistics_write_to(statistics, path_of_run()));
  take_step(statistics, 1);
  assert_ok(htone_statistics_add_evaluation(statistics, 0.1f));
  assert_ok(htone_statistics_add_checkpoint(statistics));
  assert_ok(htone_statistics_add_fallback(statistics, "layer 0.fc1", "mxfp8", "bf16"));
  assert_line(1, "\"event\":\"evaluation\",\"loss\":0.1}");
  assert_line(1, "\"event\":\"checkpoint\"}");
  assert_line(1, "\"event\":\"fallback\",\"module\":\"layer 0.fc1\",\"from\":\"mxfp8\",\"to\":\"bf16\"}");
}

typedef struct Spikes {
  htone_statistics* statistics;
  int count, destroyed;
  char last[32];
  htone_status result;
} Spikes;

static htone_status note_spike(int64_t step, const char* quantity, void* user) {
  Spikes* spikes = user;
  htone_spike spike = HTONE_SPIKE_INIT;
  ++spikes->count;
  snprintf(spikes->last, sizeof spikes->last, "%s %d", quantity, (int)step);
  if (htone_statistics_last_spike(spikes->statistics, &spike) != HTONE_OK) return HTONE_ERROR_INTERNAL;
  if (spike.step != step || spike.quantity != HTONE_SPIKE_LOSS) return HTONE_ERROR_INTERNAL;
  return spikes->result;
}

static void count_destroyed(void* user) { ++((Spikes*)user)->destroyed; }

static void a_spike_is_recorded_and_the_callback_called(void** state) {
  (void)state;
  htone_statistics* statistics = make_statistics(NULL);
  Spikes spikes = {statistics, 0, 0, "", HTONE_OK};
  assert_ok(htone_statistics_set_spike_callback(statistics, note_spike, &spikes, count_destroyed));
  assert_ok(htone_statistics_write_to(statistics, path_of_run()));
  for (int i = 0; i < 20; ++i) take_step(statistics, i % 2 == 0 ? 1 : 3);
  assert_int_equal(spikes.count, 0);
  take_step(statistics, 20);
  assert_string_equal(spikes.last, "loss 21");
  assert_line(21, "\"event\":\"spike\",\"quantity\":\"loss\",\"value\":20,\"mean\":2,\"deviation\":1.025");
  spikes.result = HTONE_ERROR_CANCELLED;
  assert_ok(htone_statistics_begin_step(statistics));
  assert_fails(htone_statistics_end_step(statistics, NAN, 1), HTONE_ERROR_CALLBACK, "the callback of spikes returned");
  assert_int_equal(last_native_code(), HTONE_ERROR_CANCELLED);
  assert_int_equal(summary_of(statistics).steps, 22);
  assert_int_equal(summary_of(statistics).spikes, 2);
  assert_ok(htone_statistics_set_spike_callback(statistics, NULL, NULL, NULL));
  assert_int_equal(spikes.destroyed, 1);
  take_step(statistics, NAN);
  assert_int_equal(spikes.count, 2);
}

static void the_detector_may_be_off(void** state) {
  (void)state;
  htone_statistics_options options = HTONE_STATISTICS_OPTIONS_INIT;
  options.spike_deviations = 0;
  htone_statistics* statistics = make_statistics(&options);
  take_step(statistics, NAN);
  assert_int_equal(summary_of(statistics).spikes, 0);
}

static void calls_in_the_wrong_order_are_refused(void** state) {
  (void)state;
  const Training training = make_training();
  htone_statistics* statistics = training.statistics;
  assert_fails(htone_statistics_begin_part(statistics, HTONE_STEP_PART_DATA), HTONE_ERROR_STATE, "has begun no step");
  assert_fails(htone_statistics_end_step(statistics, 1, 1), HTONE_ERROR_STATE, "has begun no step");
  assert_ok(htone_statistics_cancel_step(statistics));
  assert_ok(htone_statistics_begin_step(statistics));
  assert_fails(htone_statistics_begin_step(statistics), HTONE_ERROR_STATE, "has begun step 1");
  assert_fails(htone_statistics_set_step_count(statistics, 3), HTONE_ERROR_STATE, "has begun step 1");
  assert_fails(htone_statistics_set_optimizer(statistics, NULL, NULL), HTONE_ERROR_STATE, "has begun step 1");
  assert_ok(htone_statistics_cancel_step(statistics));
  train_step(&training, -1);
  assert_int_equal(summary_of(statistics).steps, 1);
}

static void wrong_arguments_are_named(void** state) {
  (void)state;
  const Training training = make_training();
  htone_statistics* statistics = training.statistics;
  htone_statistics* none = NULL;
  htone_statistics_options options = HTONE_STATISTICS_OPTIONS_INIT;
  options.spike_window = 9;
  assert_fails(htone_statistics_create(test_device(), &options, &none), HTONE_ERROR_INVALID_ARGUMENT,
               "options.spike_window=9, expected 10 to 65536");
  options.spike_window = 10;
  options.label = "a\nb";
  assert_fails(htone_statistics_create(test_device(), &options, &none), HTONE_ERROR_INVALID_ARGUMENT, "options.label");
  assert_fails(htone_statistics_set_optimizer(statistics, NULL, training.scaler), HTONE_ERROR_INVALID_ARGUMENT,
               "scaler is given without an optimizer");
  htone_device* other = make_device(make_context(1, 1));
  htone_optimizer* foreign = make_sgd(make_linear(other, 2, 2, 0), 1);
  assert_fails(htone_statistics_set_optimizer(statistics, foreign, NULL), HTONE_ERROR_DEVICE, "another device");
  assert_fails(htone_statistics_begin_part(statistics, (htone_step_part)5), HTONE_ERROR_INVALID_ARGUMENT, "part=5");
  assert_fails(htone_statistics_end_step(statistics, 1, -1), HTONE_ERROR_INVALID_ARGUMENT, "items=-1");
  assert_fails(htone_statistics_write_to(statistics, ""), HTONE_ERROR_INVALID_ARGUMENT, "path is empty");
  assert_fails(htone_statistics_write_to(statistics, "/nowhere/run"), HTONE_ERROR_IO, "/nowhere/run");
  train_step(&training, -1);
  assert_int_equal(step_of(statistics, 1).outcome, HTONE_RECORDED_STEPPED);
}

static void a_file_that_is_no_record_is_left_alone(void** state) {
  (void)state;
  htone_statistics* statistics = make_statistics(NULL);
  FILE* file = fopen(path_of_run(), "wb");
  assert_non_null(file);
  fputs("weights", file);
  fclose(file);
  assert_fails(htone_statistics_write_to(statistics, path_of_run()), HTONE_ERROR_FORMAT, "run.jsonl is no record");
  char* text = read_file(path_of_run());
  assert_string_equal(text, "weights");
  free(text);
  take_step(statistics, 1);
}

static int lines_in(const char* text) {
  int lines = 0;
  for (const char* end = strchr(text, '\n'); end != NULL; end = strchr(end + 1, '\n')) ++lines;
  return lines;
}

/* Steps until it is killed. */
static void run_for_ever(const char* path) {
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_statistics* statistics = NULL;
  alarm(120);
  if (htone_context_create(NULL, &context) != HTONE_OK) _exit(1);
  if (htone_device_create(context, "cpu", &device) != HTONE_OK) _exit(2);
  if (htone_statistics_create(device, NULL, &statistics) != HTONE_OK) _exit(3);
  if (htone_statistics_write_to(statistics, path) != HTONE_OK) _exit(4);
  for (;;) {
    if (htone_statistics_begin_step(statistics) != HTONE_OK) _exit(5);
    if (htone_statistics_end_step(statistics, 2.5, 8) != HTONE_OK) _exit(6);
  }
}

static void wait_for_lines(const char* path, int lines) {
  for (int found = 0; found < lines;) {
    char* text = read_file(path);
    found = lines_in(text);
    free(text);
  }
}

/* Complete lines, each of which is an object, and steps without a gap. */
static int check_lines(const char* text) {
  int steps = 0;
  for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    char begin[64];
    snprintf(begin, sizeof begin, "{\"step\":%d,\"record\":\"%s\"", steps, line == text ? "run" : "step");
    assert_int_equal(strncmp(line, begin, strlen(begin)), 0);
    assert_true(end[-1] == '}');
    ++steps;
  }
  return steps - 1;
}

static void s20_a_run_that_is_killed_leaves_complete_lines(void** state) {
  (void)state;
  int status = 0;
  const char* path = path_of_run();
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) run_for_ever(path);
  wait_for_lines(path, 20);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  char* text = read_file(path);
  const int steps = check_lines(text);
  assert_true(steps >= 19);
  free(text);
  htone_statistics* statistics = make_statistics(NULL);
  assert_ok(htone_statistics_set_step_count(statistics, 10));
  assert_ok(htone_statistics_write_to(statistics, path));
  take_step(statistics, 7);
  assert_line(11, "\"loss\":7,");
  text = read_file(path);
  assert_int_equal(lines_in(text), 11 + 1 + 1);
  free(text);
}

static void a_record_outlives_the_handles_that_it_was_made_of(void** state) {
  (void)state;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_module* model = NULL;
  htone_optimizer* optimizer = NULL;
  htone_statistics* statistics = NULL;
  assert_ok(htone_context_create(NULL, &context));
  assert_ok(htone_device_create(context, "cpu", &device));
  assert_ok(htone_module_create_linear(device, 2, 2, NULL, &model));
  assert_ok(htone_optimizer_create(model, NULL, &optimizer));
  assert_ok(htone_statistics_create(device, NULL, &statistics));
  assert_ok(htone_statistics_set_optimizer(statistics, optimizer, NULL));
  assert_ok(htone_statistics_write_to(statistics, path_of_run()));
  assert_ok(htone_optimizer_release(optimizer));
  assert_ok(htone_module_release(model));
  assert_ok(htone_device_release(device));
  assert_ok(htone_context_release(context));
  take_step(statistics, 5);
  assert_true(step_of(statistics, 1).lr == 1e-3);
  assert_ok(htone_statistics_release(statistics));
  assert_line(1, "\"loss\":5,\"lr\":0.001,");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_overflow_names_the_tensor_and_the_scales_are_kept),
      cmocka_unit_test(a_step_has_times_memory_and_the_norm),
      cmocka_unit_test(a_record_without_an_optimizer_has_what_it_is_given),
      cmocka_unit_test(the_ring_has_the_last_steps_and_the_summary_counts_all),
      cmocka_unit_test(a_shorter_structure_gets_its_part_and_an_ended_text),
      cmocka_unit_test(a_run_that_goes_on_keeps_its_lines),
      cmocka_unit_test(events_are_lines_of_the_file),
      cmocka_unit_test(a_spike_is_recorded_and_the_callback_called),
      cmocka_unit_test(the_detector_may_be_off),
      cmocka_unit_test(calls_in_the_wrong_order_are_refused),
      cmocka_unit_test(wrong_arguments_are_named),
      cmocka_unit_test(a_file_that_is_no_record_is_left_alone),
      cmocka_unit_test(s20_a_run_that_is_killed_leaves_complete_lines),
      cmocka_unit_test(a_record_outlives_the_handles_that_it_was_made_of),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
