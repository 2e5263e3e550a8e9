/* Training on the deferred device, which runs all work only when the program waits for it: no step waits, and the
 * weights have the CPU's bits. */
#include <dlfcn.h>
#include <halftone/monitor.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"
#include "test_run.h"

enum { kSteps = 6, kImages = 4, kSide = 10, kPixels = kImages * kSide * kSide, kLayers = 6, kRunsPerKind = 2 };

static const struct {
  const char* plugin;
  const char* name;
} kDevices[kRunsPerKind] = {{NULL, "cpu"}, {DEFERRED_PLUGIN, "deferred"}};

static void* plugins(const char* name) {
  void* library = dlopen(DEFERRED_PLUGIN, RTLD_NOW);
  assert_non_null(library);
  void* symbol = dlsym(library, name);
  assert_non_null(symbol);
  return symbol;
}

/* ISO C has no conversion from an object's address to a function's. */
static int64_t waits(void) {
  int64_t (*count)(void) = NULL;
  void* symbol = plugins("deferred_plugin_waits");
  memcpy(&count, &symbol, sizeof symbol);
  return count();
}

static void lose_device_after(int64_t pieces) {
  void (*set)(int64_t) = NULL;
  void* symbol = plugins("deferred_plugin_lose_after");
  memcpy(&set, &symbol, sizeof symbol);
  set(pieces);
}

static const RunKind kKinds[] = {
    {"bf16 beside masters", HTONE_BF16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"f16, 8-bit moments", HTONE_F16, HTONE_MASTER_FULL, HTONE_I8, HTONE_U8, kRunAdamw},
    {"split bf16", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_BF16, HTONE_F32, kRunAdamw},
    {"adafactor", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_F32, HTONE_F32, kRunAdafactor},
    {"rmsprop, 8-bit moments", HTONE_BF16, HTONE_MASTER_FULL, HTONE_I8, HTONE_U8, kRunRmsprop},
};

/* With a guard that skips some of the steps. */
static void begin_guarded(Run* run, const RunKind* kind, int device) {
  htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
  assert_ok(begin_run_on(run, kind, NULL, kDevices[device].plugin, kDevices[device].name));
  guard.max_norm_ratio = 1;
  guard.warmup_steps = 1;
  assert_ok(htone_optimizer_set_norm_guard(run->optimizer, &guard));
}

static uint64_t trained(const RunKind* kind, int device) {
  Run run;
  begin_guarded(&run, kind, device);
  for (int i = 0; i < kSteps; ++i) {
    const int64_t before = waits();
    assert_ok(train_step(&run));
    assert_int_equal(waits() - before, 0);
  }
  const uint64_t result = fingerprint(&run);
  end_run(&run);
  return result;
}

/* Gradient scaler, optimizers, averages of the weights and a sampler's batches. */
static void a_perceptron_trains_to_the_cpus_bits_without_a_wait(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kKinds); ++i) {
    const uint64_t expected = trained(&kKinds[i], 0);
    assert_true(trained(&kKinds[i], 1) == expected);
  }
}

/* Statistics of the model's tensors in every step. */
static htone_statistics* watch(const Run* run) {
  htone_monitor_options options = HTONE_MONITOR_OPTIONS_INIT;
  htone_statistics* statistics = NULL;
  options.interval = options.noise = 1;
  assert_ok(htone_statistics_create(run->device, NULL, &statistics));
  assert_ok(htone_statistics_watch(statistics, run->model, run->optimizer, &options));
  return statistics;
}

static uint64_t watched(const RunKind* kind) {
  Run run;
  size_t count = 0;
  begin_guarded(&run, kind, 1);
  htone_statistics* statistics = watch(&run);
  for (int i = 0; i < kSteps; ++i) {
    const int64_t before = waits();
    assert_ok(htone_statistics_begin_step(statistics));
    assert_ok(train_step(&run));
    assert_ok(htone_statistics_end_step(statistics, 0, 0));
    assert_int_equal(waits() - before, 0);
  }
  assert_ok(htone_statistics_flush(statistics));
  assert_ok(htone_statistics_tensor_count(statistics, &count));
  assert_true(count > 0);
  assert_ok(htone_statistics_release(statistics));
  const uint64_t result = fingerprint(&run);
  end_run(&run);
  return result;
}

static void a_watched_model_trains_without_a_wait(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kKinds); ++i) assert_true(watched(&kKinds[i]) == trained(&kKinds[i], 0));
}

static htone_module* make_network(htone_device* device, int cumulative) {
  htone_module *layers[kLayers] = {NULL}, *network = NULL;
  htone_conv_options conv;
  htone_batch_norm_options norm;
  assert_ok(htone_conv_options_init(&conv));
  conv.padding_h = 1;
  conv.padding_w = 1;
  assert_ok(htone_batch_norm_options_init(&norm));
  norm.cumulative = cumulative;
  assert_ok(htone_module_create_conv2d(device, 1, 6, 3, 3, &conv, &layers[0]));
  assert_ok(htone_module_create_batch_norm2d(device, 6, &norm, &layers[1]));
  assert_ok(htone_module_create_relu(&layers[2]));
  assert_ok(htone_module_create_max_pool2d(2, 2, NULL, &layers[3]));
  assert_ok(htone_module_create_flatten(&layers[4]));
  assert_ok(htone_module_create_linear(device, 6 * (kSide / 2) * (kSide / 2), 3, NULL, &layers[5]));
  assert_ok(htone_module_create_sequential(kLayers, layers, &network));
  for (int i = 0; i < kLayers; ++i) assert_ok(htone_module_release(layers[i]));
  return keep_module(network);
}

typedef struct Trainer {
  htone_device* device;
  htone_module* network;
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
} Trainer;

static Trainer make_trainer_in(htone_context* context, int device, int cumulative) {
  Trainer trainer = {NULL};
  htone_optimizer_options adamw;
  if (kDevices[device].plugin != NULL) assert_ok(htone_context_load_plugin(context, kDevices[device].plugin));
  assert_ok(htone_device_create(context, kDevices[device].name, &trainer.device));
  keep_device(trainer.device);
  trainer.network = make_network(trainer.device, cumulative);
  assert_ok(htone_autocast_policy_create(HTONE_F16, &trainer.policy));
  keep_policy(trainer.policy);
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &adamw));
  adamw.compute_dtype = HTONE_F16;
  adamw.lr = 1e-2;
  assert_ok(htone_optimizer_create(trainer.network, &adamw, &trainer.optimizer));
  keep_optimizer(trainer.optimizer);
  assert_ok(htone_grad_scaler_create(trainer.device, NULL, &trainer.scaler));
  keep_grad_scaler(trainer.scaler);
  return trainer;
}

static Trainer make_trainer(int device, int cumulative) {
  return make_trainer_in(make_context(2, 7), device, cumulative);
}

/* The batch comes from memory that the program uses again at once. Returns the loss, not read yet. */
static htone_tensor* step(const Trainer* trainer, int number) {
  float pixels[kPixels];
  int64_t labels[kImages];
  htone_tensor *images = NULL, *targets = NULL, *logits = NULL, *loss = NULL, *scaled = NULL;
  for (int i = 0; i < kPixels; ++i) pixels[i] = (float)((i * 37 + number * 11) % 64 - 32) / 16;
  for (int i = 0; i < kImages; ++i) labels[i] = (i + number) % 3;
  assert_ok(htone_tensor_create_copy(trainer->device, HTONE_F32, 4, (const int64_t[]){kImages, 1, kSide, kSide}, pixels,
                                     &images));
  assert_ok(htone_tensor_create_copy(trainer->device, HTONE_I64, 1, (const int64_t[]){kImages}, labels, &targets));
  memset(pixels, 0xff, sizeof pixels);
  memset(labels, 0xff, sizeof labels);
  assert_ok(htone_optimizer_zero_grad(trainer->optimizer));
  assert_ok(htone_module_forward(trainer->network, images, trainer->policy, &logits));
  assert_ok(htone_cross_entropy(logits, targets, NULL, &loss));
  assert_ok(htone_grad_scaler_scale(trainer->scaler, loss, &scaled));
  assert_ok(htone_tensor_backward(scaled, NULL, 0));
  assert_ok(htone_grad_scaler_step(trainer->scaler, trainer->optimizer));
  assert_ok(htone_grad_scaler_update(trainer->scaler));
  htone_tensor* const used[] = {images, targets, logits, scaled};
  for (size_t i = 0; i < COUNT_OF(used); ++i) assert_ok(htone_tensor_release(used[i]));
  return keep_tensor(loss);
}

static void expect_equal_tensors(htone_tensor* actual, htone_tensor* expected) {
  double *a = values_of(actual), *b = values_of(expected);
  assert_memory_equal(a, b, (size_t)numel_of(expected) * sizeof *a);
  free(a);
  free(b);
}

static void expect_equal_networks(const Trainer* actual, const Trainer* expected) {
  size_t parameters = 0, buffers = 0;
  assert_ok(htone_module_parameter_count(expected->network, &parameters));
  assert_ok(htone_module_buffer_count(expected->network, &buffers));
  assert_true(parameters == 6 && buffers == 3);
  for (size_t i = 0; i < parameters; ++i) {
    expect_equal_tensors(read_parameter(actual->network, i, HTONE_F32),
                         read_parameter(expected->network, i, HTONE_F32));
  }
  for (size_t i = 0; i < buffers; ++i) {
    htone_tensor *a = NULL, *b = NULL;
    assert_ok(htone_module_buffer(actual->network, i, &a));
    keep_tensor(a);
    assert_ok(htone_module_buffer(expected->network, i, &b));
    keep_tensor(b);
    expect_equal_tensors(a, b);
  }
}

static void expect_equal_training(int cumulative) {
  const Trainer here = make_trainer(0, cumulative), there = make_trainer(1, cumulative);
  for (int i = 0; i < kSteps; ++i) {
    const double expected = item_of(step(&here, i));
    const int64_t before = waits();
    htone_tensor* loss = step(&there, i);
    assert_int_equal(waits() - before, 0);
    assert_true(item_of(loss) == expected);
    assert_true(waits() > before);
  }
  expect_equal_networks(&there, &here);
}

static void a_convolutional_network_trains_to_the_cpus_bits_without_a_wait(void** state) {
  (void)state;
  expect_equal_training(0);
}

static void cumulative_statistics_do_not_wait(void** state) {
  (void)state;
  expect_equal_training(1);
}

/* A23 */
static void a_bad_target_is_reported_where_the_loss_is_read(void** state) {
  (void)state;
  const Trainer trainer = make_trainer(1, 0);
  const int64_t label = 3;
  double value = 0;
  float zeros[3] = {0};
  htone_tensor *logits = NULL, *target = NULL, *loss = NULL;
  assert_ok(htone_tensor_create_copy(trainer.device, HTONE_F32, 2, (const int64_t[]){1, 3}, zeros, &logits));
  keep_tensor(logits);
  assert_ok(htone_tensor_create_copy(trainer.device, HTONE_I64, 1, (const int64_t[]){1}, &label, &target));
  keep_tensor(target);
  assert_ok(htone_cross_entropy(logits, target, NULL, &loss));
  keep_tensor(loss);
  assert_fails(htone_tensor_item(loss, &value), HTONE_ERROR_INVALID_ARGUMENT, "3");
  assert_true(item_of(step(&trainer, 0)) > 0);
}

static void expect_working(htone_context* context, const char* name) {
  htone_device* device = NULL;
  htone_tensor *one = NULL, *two = NULL;
  assert_ok(htone_device_create(context, name, &device));
  keep_device(device);
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 0, NULL, 1, &one));
  keep_tensor(one);
  assert_ok(htone_add(one, one, &two));
  keep_tensor(two);
  assert_true(item_of(two) == 2);
}

/* Trains on a device that is lost at a piece of its work. Returns 0 if the work ends before. */
static int train_until_loss(int64_t piece) {
  double value = 0;
  htone_tensor* later = NULL;
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  htone_context* context = make_context(1, 7);
  const Trainer trainer = make_trainer_in(context, 1, 0);
  lose_device_after(piece);
  step(&trainer, 0);
  htone_tensor* loss = step(&trainer, 1);
  const htone_status status = htone_tensor_item(loss, &value);
  lose_device_after(-1);
  if (status == HTONE_OK) return 0;
  assert_int_equal(status, HTONE_ERROR_DEVICE);
  assert_fails(htone_tensor_item(loss, &value), HTONE_ERROR_DEVICE, "the deferred device is lost");
  assert_fails(htone_optimizer_outcome(trainer.optimizer, &outcome), HTONE_ERROR_DEVICE, "is lost");
  assert_ok(htone_tensor_create_full(trainer.device, HTONE_F32, 0, NULL, 1, &later));
  keep_tensor(later);
  assert_fails(htone_tensor_item(later, &value), HTONE_ERROR_DEVICE, "is lost");
  expect_working(context, "deferred:1");
  expect_working(context, "cpu");
  return 1;
}

static void d21_a_device_that_is_lost_stays_lost_and_the_others_work(void** state) {
  (void)state;
  int64_t piece = 0;
  while (train_until_loss(piece)) piece += 1 + piece / 2;
  assert_true(piece > 100); /* of two steps */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_perceptron_trains_to_the_cpus_bits_without_a_wait),
      cmocka_unit_test(a_watched_model_trains_without_a_wait),
      cmocka_unit_test(a_convolutional_network_trains_to_the_cpus_bits_without_a_wait),
      cmocka_unit_test(cumulative_statistics_do_not_wait),
      cmocka_unit_test(a_bad_target_is_reported_where_the_loss_is_read),
      cmocka_unit_test(d21_a_device_that_is_lost_stays_lost_and_the_others_work),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
