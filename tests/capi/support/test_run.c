#include "test_run.h"

#include <stdlib.h>
#include <string.h>

#define TRY(call)                                          \
  do {                                                     \
    const htone_status status_of_call = (call);            \
    if (status_of_call != HTONE_OK) return status_of_call; \
  } while (0)

enum { kSamples = 8, kFeatures = 5, kHidden = 300, kClasses = 3, kBatch = 4 };

static htone_status make_data(Run* run) {
  float features[kSamples * kFeatures];
  int64_t labels[kSamples];
  for (int i = 0; i < kSamples * kFeatures; ++i) features[i] = (float)((i * 37) % 64 - 32) / 16;
  for (int i = 0; i < kSamples; ++i) labels[i] = (i * 5) % kClasses;
  htone_tensor* tensors[2] = {NULL, NULL};
  htone_sampler_options options;
  htone_status status = htone_sampler_options_init(&options);
  options.count = kSamples;
  options.batch_size = kBatch;
  options.seed = 3;
  if (status == HTONE_OK) status = htone_sampler_create(&options, &run->sampler);
  if (status == HTONE_OK) {
    status = htone_tensor_create_copy(run->device, HTONE_F32, 2, (const int64_t[]){kSamples, kFeatures}, features,
                                      &tensors[0]);
  }
  if (status == HTONE_OK) {
    status = htone_tensor_create_copy(run->device, HTONE_I64, 1, (const int64_t[]){kSamples}, labels, &tensors[1]);
  }
  if (status == HTONE_OK) status = htone_batches_create(run->sampler, 2, tensors, &run->batches);
  htone_tensor_release(tensors[0]);
  htone_tensor_release(tensors[1]);
  return status;
}

static htone_status make_model(Run* run) {
  htone_module* layers[3] = {NULL, NULL, NULL};
  htone_status status = htone_module_create_linear(run->device, kFeatures, kHidden, NULL, &layers[0]);
  if (status == HTONE_OK) status = htone_module_create_relu(&layers[1]);
  if (status == HTONE_OK) status = htone_module_create_linear(run->device, kHidden, kClasses, NULL, &layers[2]);
  if (status == HTONE_OK) status = htone_module_create_sequential(3, layers, &run->model);
  for (int i = 0; i < 3; ++i) htone_module_release(layers[i]);
  return status;
}

static htone_status make_adamw(Run* run, const RunKind* kind) {
  htone_optimizer_options adamw;
  TRY(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &adamw));
  adamw.compute_dtype = kind->compute_dtype;
  adamw.master_storage = kind->master_storage;
  adamw.moment1_dtype = kind->moment1_dtype;
  adamw.moment2_dtype = kind->moment2_dtype;
  adamw.min_8bit_size = 0;
  adamw.lr = 1e-2;
  return htone_optimizer_create(run->model, &adamw, &run->optimizer);
}

static htone_status make_rmsprop(Run* run, const RunKind* kind) {
  htone_optimizer_options rmsprop;
  TRY(htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &rmsprop));
  rmsprop.compute_dtype = kind->compute_dtype;
  rmsprop.master_storage = kind->master_storage;
  rmsprop.moment1_dtype = kind->moment1_dtype;
  rmsprop.moment2_dtype = kind->moment2_dtype;
  rmsprop.min_8bit_size = 0;
  rmsprop.epsilon = 1e-3;
  rmsprop.lr = 1e-4;
  rmsprop.momentum = 0.9;
  rmsprop.centered = 1;
  return htone_optimizer_create(run->model, &rmsprop, &run->optimizer);
}

static htone_status make_adafactor(Run* run, const RunKind* kind) {
  htone_optimizer_options adafactor;
  TRY(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAFACTOR, &adafactor));
  adafactor.compute_dtype = kind->compute_dtype;
  adafactor.master_storage = kind->master_storage;
  adafactor.weight_decay = 0.1;
  return htone_optimizer_create(run->model, &adafactor, &run->optimizer);
}

static htone_status make_by_rule(Run* run, const RunKind* kind) {
  switch (kind->rule) {
    case kRunAdamw:
      return make_adamw(run, kind);
    case kRunRmsprop:
      return make_rmsprop(run, kind);
    case kRunAdafactor:
      return make_adafactor(run, kind);
  }
  return HTONE_ERROR_INVALID_ARGUMENT;
}

static htone_status make_optimizer(Run* run, const RunKind* kind) {
  htone_schedule* schedule = NULL;
  htone_status status = make_by_rule(run, kind);
  if (status == HTONE_OK) status = htone_schedule_create_cosine(40, 0.1, &schedule);
  if (status == HTONE_OK) status = htone_optimizer_set_schedule(run->optimizer, schedule);
  htone_schedule_release(schedule);
  return status;
}

/* A scale that grows every seven steps and sometimes overflows FP16. */
static htone_status make_scaler(Run* run) {
  htone_grad_scaler_options scaler;
  TRY(htone_grad_scaler_options_init(&scaler));
  scaler.growth_interval = 7;
  scaler.initial_scale = 32768;
  return htone_grad_scaler_create(run->device, &scaler, &run->scaler);
}

static htone_status make_ema(Run* run) {
  htone_ema_options options;
  htone_parameters* parameters = NULL;
  TRY(htone_ema_options_init(&options));
  options.warmup = 1;
  TRY(htone_parameters_create_from_module(run->model, &parameters));
  const htone_status status = htone_ema_create(parameters, &options, &run->ema);
  htone_parameters_release(parameters);
  return status;
}

htone_status begin_run(Run* run, const RunKind* kind, const htone_context_options* options) {
  return begin_run_on(run, kind, options, NULL, "cpu");
}

htone_status begin_run_on(Run* run, const RunKind* kind, const htone_context_options* options, const char* plugin,
                          const char* device) {
  htone_context_options own;
  *run = (Run){NULL};
  TRY(htone_context_options_init(&own));
  own.num_threads = 2;
  own.seed = 7;
  TRY(htone_context_create(options != NULL ? options : &own, &run->context));
  if (plugin != NULL) TRY(htone_context_load_plugin(run->context, plugin));
  TRY(htone_device_create(run->context, device, &run->device));
  TRY(make_data(run));
  TRY(make_model(run));
  TRY(htone_autocast_policy_create(kind->compute_dtype, &run->policy));
  TRY(make_optimizer(run, kind));
  TRY(make_scaler(run));
  return make_ema(run);
}

static htone_status loss_of(Run* run, htone_tensor** out) {
  htone_tensor *features = NULL, *labels = NULL, *logits = NULL;
  htone_status status = htone_batches_tensor(run->batches, 0, &features);
  if (status == HTONE_OK) status = htone_batches_tensor(run->batches, 1, &labels);
  if (status == HTONE_OK) status = htone_module_forward(run->model, features, run->policy, &logits);
  if (status == HTONE_OK) status = htone_cross_entropy(logits, labels, NULL, out);
  htone_tensor_release(logits);
  htone_tensor_release(labels);
  htone_tensor_release(features);
  return status;
}

htone_status train_step(Run* run) {
  htone_tensor *loss = NULL, *scaled = NULL;
  TRY(htone_optimizer_zero_grad(run->optimizer));
  TRY(htone_batches_next(run->batches));
  htone_status status = loss_of(run, &loss);
  if (status == HTONE_OK) status = htone_grad_scaler_scale(run->scaler, loss, &scaled);
  if (status == HTONE_OK) status = htone_tensor_backward(scaled, NULL, 0);
  if (status == HTONE_OK) status = htone_grad_scaler_step(run->scaler, run->optimizer);
  if (status == HTONE_OK) status = htone_grad_scaler_update(run->scaler);
  if (status == HTONE_OK) status = htone_ema_update(run->ema);
  htone_tensor_release(scaled);
  htone_tensor_release(loss);
  return status;
}

void end_run(Run* run) {
  htone_batches_release(run->batches);
  htone_sampler_release(run->sampler);
  htone_ema_release(run->ema);
  htone_grad_scaler_release(run->scaler);
  htone_optimizer_release(run->optimizer);
  htone_autocast_policy_release(run->policy);
  htone_module_release(run->model);
  htone_device_release(run->device);
  htone_context_release(run->context);
  *run = (Run){NULL};
}

htone_status add_parts(htone_checkpoint* checkpoint, const Run* run) {
  TRY(htone_checkpoint_add_module(checkpoint, "model", run->model));
  TRY(htone_checkpoint_add_optimizer(checkpoint, "optimizer", run->optimizer));
  TRY(htone_checkpoint_add_grad_scaler(checkpoint, "scaler", run->scaler));
  TRY(htone_checkpoint_add_ema(checkpoint, "averages", run->ema));
  return htone_checkpoint_add_sampler(checkpoint, "sampler", run->sampler);
}

/* FNV-1a. */
static void mix(uint64_t* hash, const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < size; ++i) *hash = (*hash ^ bytes[i]) * 1099511628211u;
}

/* Releases `values`. */
static void mix_values(uint64_t* hash, htone_tensor* values) {
  int64_t count = 0;
  assert_ok(htone_tensor_numel(values, &count));
  float* numbers = malloc((size_t)count * sizeof *numbers);
  assert_non_null(numbers);
  assert_ok(htone_tensor_read(values, HTONE_F32, numbers, (size_t)count * sizeof *numbers));
  mix(hash, numbers, (size_t)count * sizeof *numbers);
  free(numbers);
  assert_ok(htone_tensor_release(values));
}

uint64_t fingerprint(const Run* run) {
  uint64_t hash = 14695981039346656037u;
  double scale = 0;
  assert_ok(htone_grad_scaler_current_scale(run->scaler, &scale));
  mix(&hash, &scale, sizeof scale);
  for (size_t i = 0; i < kRunParameters; ++i) {
    htone_parameter* parameter = NULL;
    htone_tensor *values = NULL, *averages = NULL;
    assert_ok(htone_module_parameter(run->model, i, &parameter));
    assert_ok(htone_parameter_read(parameter, HTONE_F32, &values));
    mix_values(&hash, values);
    assert_ok(htone_parameter_release(parameter));
    assert_ok(htone_ema_read(run->ema, i, &averages));
    mix_values(&hash, averages);
  }
  return hash;
}
