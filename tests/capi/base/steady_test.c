/* A long run needs no more than after its first steps: no memory, no handles, no state that is created late. Test names
 * begin with their rows of tests/faults.md. */
#include <stdio.h>
#include <unistd.h>

#include "test_child.h"
#include "test_modules.h"

enum { kRows = 2, kInputs = 40, kOutputs = 3 };

typedef struct Tiny {
  htone_device* device;
  htone_module* module;
  htone_optimizer* optimizer;
  htone_tensor* input;
} Tiny;

typedef htone_status (*MakeOptimizer)(htone_module* module, htone_optimizer** out);

static htone_status make_adamw(htone_module* module, htone_optimizer** out) {
  return htone_optimizer_create(module, NULL, out);
}

static htone_status make_adam(htone_module* module, htone_optimizer** out) {
  return htone_optimizer_create(module, &(htone_optimizer_options)HTONE_ADAM_OPTIONS_INIT, out);
}

static htone_status make_lion(htone_module* module, htone_optimizer** out) {
  return htone_optimizer_create(module, &(htone_optimizer_options)HTONE_LION_OPTIONS_INIT, out);
}

static htone_status make_adafactor(htone_module* module, htone_optimizer** out) {
  return htone_optimizer_create(module, &(htone_optimizer_options)HTONE_ADAFACTOR_OPTIONS_INIT, out);
}

static htone_status make_rmsprop(htone_module* module, htone_optimizer** out) {
  htone_optimizer_options options;
  htone_status status = htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &options);
  options.momentum = 0.9;
  options.centered = 1;
  return status == HTONE_OK ? htone_optimizer_create(module, &options, out) : status;
}

static htone_status make_sgd(htone_module* module, htone_optimizer** out) {
  htone_optimizer_options options;
  htone_status status = htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options);
  options.momentum = 0.9;
  return status == HTONE_OK ? htone_optimizer_create(module, &options, out) : status;
}

static Tiny make_tiny(MakeOptimizer make) {
  Tiny tiny = {.device = make_device(make_context(1, 3))};
  const int64_t shape[] = {kRows, kInputs};
  tiny.module = make_linear(tiny.device, kInputs, kOutputs, 1);
  assert_ok(htone_tensor_create_full(tiny.device, HTONE_F32, 2, shape, 0.5, &tiny.input));
  keep_tensor(tiny.input);
  assert_ok(make(tiny.module, &tiny.optimizer));
  keep_optimizer(tiny.optimizer);
  return tiny;
}

static htone_status train_once(const Tiny* tiny) {
  htone_tensor *out = NULL, *square = NULL, *loss = NULL;
  htone_status status = htone_optimizer_zero_grad(tiny->optimizer);
  if (status == HTONE_OK) status = htone_module_forward(tiny->module, tiny->input, NULL, &out);
  if (status == HTONE_OK) status = htone_mul(out, out, &square);
  if (status == HTONE_OK) status = htone_mean(square, 0, NULL, 0, &loss);
  if (status == HTONE_OK) status = htone_tensor_backward(loss, NULL, 0);
  if (status == HTONE_OK) status = htone_optimizer_step(tiny->optimizer);
  htone_tensor_release(loss);
  htone_tensor_release(square);
  htone_tensor_release(out);
  return status;
}

static void train(const Tiny* tiny, int steps) {
  for (int i = 0; i < steps; ++i) assert_ok(train_once(tiny));
}

static int64_t optimizer_bytes(htone_device* device) {
  htone_memory_stats stats = {.struct_size = sizeof stats};
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats.by_category[HTONE_MEMORY_OPTIMIZER];
}

/* The first step may allocate only one number per chunk of gradients, for their norm. */
static void m8_an_optimizer_has_all_of_its_state_before_its_first_step(void** state) {
  (void)state;
  static const MakeOptimizer makers[] = {make_adamw, make_adam, make_lion, make_rmsprop, make_sgd, make_adafactor};
  for (size_t i = 0; i < COUNT_OF(makers); ++i) {
    const Tiny tiny = make_tiny(makers[i]);
    const int64_t before = optimizer_bytes(tiny.device);
    /* at least one moment per weight; Adafactor: one per row and column */
    const int64_t numbers = makers[i] == make_adafactor ? kInputs + kOutputs : kInputs * kOutputs;
    assert_true(before >= numbers * (int64_t)sizeof(float));
    train(&tiny, 3);
    assert_in_range(optimizer_bytes(tiny.device) - before, 0, 64);
  }
}

static int64_t resident_bytes(void) {
  long long pages = -1;
  FILE* file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*d %lld", &pages), 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static void m9_a_hundred_thousand_steps_leave_nothing_behind(void** state) {
  (void)state;
  enum { kWarmUp = 2000, kSteps = 100000, kFewSteps = 3000, kMiB = 1 << 20 };
  const int is_watched = kSanitized || under_valgrind();
  const Tiny tiny = make_tiny(make_adamw);
  train(&tiny, kWarmUp);
  const int64_t handles = live_handles(), before = resident_bytes();
  if (is_watched) print_message("%d steps, and no look at memory: who looks for errors in it keeps some\n", kFewSteps);
  train(&tiny, is_watched ? kFewSteps : kSteps);
  assert_true(live_handles() == handles);
  if (!is_watched) assert_in_range(resident_bytes() - before + kMiB, 0, 2 * kMiB);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m8_an_optimizer_has_all_of_its_state_before_its_first_step),
      cmocka_unit_test(m9_a_hundred_thousand_steps_leave_nothing_behind),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
