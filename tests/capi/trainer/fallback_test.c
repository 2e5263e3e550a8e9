/* A module that keeps overflowing is raised: the record names it, and the run goes on with finite results. */
#include <stdio.h>
#include <string.h>

#include "test_modules.h"
#include "trainer_run.h"

static char record[1 << 19];

static const char* path_of(const char* name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

static const char* read_record(const char* path) {
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  const size_t size = fread(record, 1, sizeof record - 1, file);
  record[size] = '\0';
  assert_int_equal(fclose(file), 0);
  return record;
}

static int count_of(const char* text, const char* part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) ++count;
  return count;
}

/* Multiplies the weights of the layer at a path. */
static void scale_weights(TrainerRun* run, const char* path, double factor) {
  htone_module* layer;
  htone_parameter* weight;
  htone_tensor *values, *scaled;
  htone_scope* no_grad;
  assert_ok(htone_module_find(run->model, path, &layer));
  assert_ok(htone_module_parameter(layer, 0, &weight));
  assert_ok(htone_no_grad_begin(&no_grad));
  assert_ok(htone_parameter_tensor(weight, &values));
  assert_ok(htone_mul_scalar(values, factor, &scaled));
  assert_ok(htone_tensor_copy_from(values, scaled));
  assert_ok(htone_scope_end(no_grad));
  assert_ok(htone_tensor_release(scaled));
  assert_ok(htone_tensor_release(values));
  assert_ok(htone_parameter_release(weight));
  assert_ok(htone_module_release(layer));
}

static htone_trainer_options fallback_options(const char* precision, const char* log) {
  htone_trainer_options options = trainer_options(precision);
  options.accumulate = 1;
  options.steps = 40;
  options.fallback_after = 3;
  options.log = log;
  return options;
}

/* The results of the first layer are beyond FP16; batch norm, which computes in FP32, brings them back. */
static void a_layer_beyond_fp16_computes_in_fp32(void** state) {
  (void)state;
  const char* log = path_of("fp16.jsonl");
  htone_trainer_options options = fallback_options("fp16", log);
  TrainerRun run;
  begin_trainer_run(&run, &options);
  scale_weights(&run, "0", 1e5);
  turn_trainer_to(&run, 4);
  assert_true(run.skipped == 4); /* the first one finds no module: nothing was watched before it */
  turn_trainer_to(&run, INT64_MAX);
  assert_true(run.skipped < 20);
  assert_int_equal(progress_of(&run).skipped, 0);
  assert_int_equal(count_of(read_record(log), "\"event\":\"fallback\""), 1);
  assert_non_null(strstr(record, "\"event\":\"fallback\",\"module\":\"0\",\"from\":\"fp16\",\"to\":\"fp32\"}"));
  assert_int_equal(count_of(record, "\"record\":\"step\""), 40);
  assert_int_equal(count_of(record, "\"outcome\":\"skipped\",\"overflow\":\"0.weight\""), (int)run.skipped);
  end_trainer_run(&run);
  options.fallback_after = 0;
  options.log = NULL;
  begin_trainer_run(&run, &options);
  scale_weights(&run, "0", 1e5);
  turn_trainer_to(&run, INT64_MAX);
  assert_true(run.skipped == 40);
  end_trainer_run(&run);
}

static void a_raised_layer_stays_so_after_a_resume(void** state) {
  (void)state;
  htone_trainer_options options = fallback_options("fp16", NULL);
  TrainerRun whole, first, second;
  begin_trainer_run(&whole, &options);
  scale_weights(&whole, "0", 1e5);
  turn_trainer_to(&whole, INT64_MAX);
  options.checkpoint = path_of("raised");
  options.checkpoint_every = 10;
  options.resume = 1;
  begin_trainer_run(&first, &options);
  scale_weights(&first, "0", 1e5);
  turn_trainer_to(&first, 13);
  end_trainer_run(&first);
  begin_trainer_run(&second, &options);
  turn_trainer_to(&second, INT64_MAX);
  assert_true(trainer_fingerprint(&second) == trainer_fingerprint(&whole));
  end_trainer_run(&second);
  end_trainer_run(&whole);
}

/* A probe of the dynamic rule is no fault of a module. */
static void skipped_steps_far_apart_raise_nothing(void** state) {
  (void)state;
  const char* log = path_of("probe.jsonl");
  htone_trainer_options options = fallback_options("fp16", log);
  htone_grad_scaler_options scaling = HTONE_GRAD_SCALER_OPTIONS_INIT;
  TrainerRun run;
  options.steps = 500;
  options.fallback_after = 2;
  scaling.initial_scale = 1024;
  scaling.growth_interval = 101;
  scaling.growth_factor = 1024;
  scaling.backoff_factor = 1.0 / 1024;
  begin_trainer_run(&run, &options);
  assert_ok(htone_grad_scaler_create(run.device, &scaling, &run.scaler));
  assert_ok(htone_trainer_set_grad_scaler(run.trainer, run.scaler));
  turn_trainer_to(&run, INT64_MAX);
  assert_true(run.skipped >= 3);
  assert_int_equal(count_of(read_record(log), "fallback"), 0);
  end_trainer_run(&run);
}

/* Makes the results of a layer infinite while it computes by a recipe of few bits. */
typedef struct Breaking {
  int calls;
} Breaking;

static htone_status break_results(htone_module* module, const htone_forward_call* call, void* user) {
  Breaking* breaking = user;
  (void)module;
  if (breaking->calls-- <= 0) return HTONE_OK;
  return htone_mul_scalar(call->outputs[0], 1e39, &call->out_tensors[0]);
}

/* A number that changes with any bit of the last layer's results for some input. */
static uint64_t results_of_last_layer(TrainerRun* run) {
  htone_module* layer;
  htone_scope *handles, *turn;
  htone_tensor *input, *results;
  float numbers[8 * 64], values[8 * 32];
  uint64_t hash = 1469598103934665603u;
  assert_ok(htone_module_find(run->model, "4", &layer));
  assert_ok(htone_handles_begin(&handles));
  assert_ok(htone_trainer_turn_begin(run->trainer, &turn));
  for (int i = 0; i < 8 * 64; ++i) numbers[i] = (float)(i * 37 % 61 - 30) / 16;
  assert_ok(htone_tensor_create_copy(run->device, HTONE_F32, 2, (const int64_t[]){8, 64}, numbers, &input));
  assert_ok(htone_module_forward(layer, input, NULL, &results));
  assert_ok(htone_tensor_read(results, HTONE_F32, values, sizeof values));
  assert_ok(htone_scope_end(turn));
  assert_ok(htone_scope_end(handles));
  assert_ok(htone_module_release(layer));
  for (size_t i = 0; i < sizeof values; ++i) hash = (hash ^ ((unsigned char*)values)[i]) * 1099511628211u;
  return hash;
}

static void set_last_recipe(TrainerRun* run, htone_recipe* recipe) {
  size_t count;
  assert_ok(htone_module_set_recipe_matching(run->model, "4", NULL, recipe, &count));
  assert_int_equal(count, 1);
}

static void a_layer_of_four_bits_is_raised_twice(void** state) {
  (void)state;
  const char* log = path_of("nvfp4.jsonl");
  const htone_trainer_options options = fallback_options("nvfp4", log);
  Breaking breaking = {.calls = 7}; /* the first one finds no module, then three for each raise */
  TrainerRun run;
  htone_module* layer;
  htone_hook* hook;
  htone_recipe* nvfp4;
  begin_trainer_run(&run, &options);
  assert_ok(htone_module_find(run.model, "4", &layer));
  assert_ok(htone_module_add_forward_hook(layer, break_results, &breaking, NULL, &hook));
  assert_ok(htone_module_release(layer));
  turn_trainer_to(&run, INT64_MAX);
  assert_true(run.skipped == 7);
  assert_int_equal(count_of(read_record(log), "fallback"), 2);
  const char* first = strstr(record, "\"module\":\"4\",\"from\":\"nvfp4\",\"to\":\"mxfp8\"}");
  assert_non_null(first);
  assert_non_null(strstr(first, "\"module\":\"4\",\"from\":\"mxfp8\",\"to\":\"bf16\"}"));
  const uint64_t raised = results_of_last_layer(&run);
  set_last_recipe(&run, NULL);
  assert_true(results_of_last_layer(&run) == raised);
  assert_ok(htone_recipe_create(HTONE_RECIPE_NVFP4, NULL, &nvfp4));
  set_last_recipe(&run, nvfp4);
  assert_true(results_of_last_layer(&run) != raised);
  assert_ok(htone_recipe_release(nvfp4));
  assert_ok(htone_hook_release(hook));
  end_trainer_run(&run);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_layer_beyond_fp16_computes_in_fp32),
      cmocka_unit_test(a_raised_layer_stays_so_after_a_resume),
      cmocka_unit_test(skipped_steps_far_apart_raise_nothing),
      cmocka_unit_test(a_layer_of_four_bits_is_raised_twice),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
