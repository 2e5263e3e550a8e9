#include "trainer_run.h"

#include <math.h>
#include <string.h>

#define TRY(call)                                          \
  do {                                                     \
    const htone_status status_of_call = (call);            \
    if (status_of_call != HTONE_OK) return status_of_call; \
  } while (0)

enum { kSamples = 72, kFeatures = 160, kHidden = 64, kClasses = 32, kBatch = 8, kLossFactor = 64 };

htone_trainer_options trainer_options(const char* precision) {
  htone_trainer_options options = HTONE_TRAINER_OPTIONS_INIT;
  options.precision = precision;
  options.steps = kTrainerSteps;
  options.lr = 1e-2;
  options.warmup_steps = 5;
  options.max_grad_norm = 1;
  options.accumulate = 2;
  return options;
}

/* Columns of many magnitudes: each recipe has other blocks with a scale of their own. */
static htone_batches* make_batches(TrainerRun* run, int shift, int32_t shuffle, htone_sampler** out_sampler) {
  const int64_t count = shuffle ? kSamples : kSamples - 2; /* the last batch of an evaluation is smaller */
  float features[kSamples * kFeatures];
  int64_t labels[kSamples];
  htone_tensor* tensors[2];
  htone_batches* batches;
  htone_sampler_options options = HTONE_SAMPLER_OPTIONS_INIT;
  for (int i = 0; i < kSamples * kFeatures; ++i) {
    features[i] = ldexpf((float)(((i + shift) * 37) % 61 - 30) / 16, -(i % kFeatures / 32) * 6);
  }
  for (int i = 0; i < kSamples; ++i) labels[i] = (i + shift) * 5 % kClasses;
  options.count = count;
  options.batch_size = kBatch;
  options.seed = 3;
  options.shuffle = shuffle;
  assert_ok(htone_sampler_create(&options, out_sampler));
  assert_ok(
      htone_tensor_create_copy(run->device, HTONE_F32, 2, (const int64_t[]){count, kFeatures}, features, &tensors[0]));
  assert_ok(htone_tensor_create_copy(run->device, HTONE_I64, 1, &count, labels, &tensors[1]));
  assert_ok(htone_batches_create(*out_sampler, 2, tensors, &batches));
  for (int i = 0; i < 2; ++i) assert_ok(htone_tensor_release(tensors[i]));
  return batches;
}

static void make_model(TrainerRun* run) {
  htone_module* layers[5];
  assert_ok(htone_module_create_linear(run->device, kFeatures, kHidden, NULL, &layers[0]));
  assert_ok(htone_module_create_batch_norm1d(run->device, kHidden, NULL, &layers[1]));
  assert_ok(htone_module_create_relu(&layers[2]));
  assert_ok(htone_module_create_dropout(0.1, &layers[3]));
  assert_ok(htone_module_create_linear(run->device, kHidden, kClasses, NULL, &layers[4]));
  assert_ok(htone_module_create_sequential(5, layers, &run->model));
  for (int i = 0; i < 5; ++i) assert_ok(htone_module_release(layers[i]));
}

void begin_trainer_data(TrainerRun* run) {
  htone_sampler* other;
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  options.num_threads = 2;
  options.seed = 7;
  *run = (TrainerRun){NULL};
  assert_ok(htone_context_create(&options, &run->context));
  assert_ok(htone_device_create(run->context, "cpu", &run->device));
  make_model(run);
  run->batches = make_batches(run, 0, 1, &run->sampler);
  run->evaluation = make_batches(run, 11, 0, &other);
  assert_ok(htone_sampler_release(other));
}

void begin_trainer_run(TrainerRun* run, const htone_trainer_options* options) {
  begin_trainer_data(run);
  assert_ok(htone_trainer_create(run->model, run->batches, options, &run->trainer));
}

void end_trainer_run(TrainerRun* run) {
  assert_ok(htone_trainer_release(run->trainer));
  assert_ok(htone_grad_scaler_release(run->scaler));
  assert_ok(htone_optimizer_release(run->optimizer));
  assert_ok(htone_autocast_policy_release(run->policy));
  assert_ok(htone_batches_release(run->evaluation));
  assert_ok(htone_batches_release(run->batches));
  assert_ok(htone_sampler_release(run->sampler));
  assert_ok(htone_module_release(run->model));
  assert_ok(htone_device_release(run->device));
  assert_ok(htone_context_release(run->context));
  *run = (TrainerRun){NULL};
}

htone_status trainer_loss(TrainerRun* run, htone_tensor* x, htone_tensor* labels, htone_tensor** out) {
  htone_tensor* logits;
  TRY(htone_module_forward(run->model, x, NULL, &logits));
  TRY(htone_cross_entropy(logits, labels, NULL, out));
  return htone_mul_scalar(*out, kLossFactor, out);
}

static htone_status take_batch(TrainerRun* run) {
  htone_tensor *x, *labels, *loss;
  TRY(htone_trainer_tensor(run->trainer, 0, &x));
  TRY(htone_trainer_tensor(run->trainer, 1, &labels));
  TRY(trainer_loss(run, x, labels, &loss));
  return htone_trainer_take_loss(run->trainer, loss);
}

htone_status turn_trainer(TrainerRun* run) {
  htone_scope *handles, *turn;
  TRY(htone_trainer_next(run->trainer, &run->phase));
  if (run->phase == HTONE_TRAINER_DONE) return HTONE_OK;
  TRY(htone_handles_begin(&handles));
  TRY(htone_trainer_turn_begin(run->trainer, &turn));
  const htone_status status = take_batch(run);
  TRY(htone_scope_end(turn));
  TRY(htone_scope_end(handles));
  return status;
}

void turn_trainer_to(TrainerRun* run, int64_t step) {
  int64_t before = progress_of(run).step;
  do {
    assert_ok(turn_trainer(run));
    const htone_trainer_progress progress = progress_of(run);
    if (progress.step > before) run->skipped += progress.skipped;
    before = progress.step;
  } while (run->phase != HTONE_TRAINER_DONE && before < step);
}

/* ---- The same calls, without a trainer */

static const struct {
  const char* name;
  htone_dtype dtype;
  htone_recipe_kind recipe;
} kPrecisions[] = {{"fp32", HTONE_F32, 0},
                   {"bf16", HTONE_BF16, 0},
                   {"fp16", HTONE_F16, 0},
                   {"fp8-delayed", HTONE_BF16, HTONE_RECIPE_DELAYED},
                   {"fp8-current", HTONE_BF16, HTONE_RECIPE_CURRENT},
                   {"fp8-block", HTONE_BF16, HTONE_RECIPE_BLOCK},
                   {"mxfp8", HTONE_BF16, HTONE_RECIPE_MXFP8},
                   {"nvfp4", HTONE_BF16, HTONE_RECIPE_NVFP4}};

static void make_policy(TrainerRun* run, htone_dtype dtype, htone_recipe_kind kind) {
  htone_recipe* recipe;
  size_t layers;
  assert_ok(htone_autocast_policy_create(dtype, &run->policy));
  if (kind == 0) return;
  assert_ok(htone_recipe_create(kind, NULL, &recipe));
  assert_ok(htone_autocast_policy_set_recipe(run->policy, recipe));
  assert_ok(htone_module_set_recipe_matching(run->model, NULL, "linear", recipe, &layers));
  assert_int_equal(layers, 2);
  assert_ok(htone_recipe_release(recipe));
}

static void make_optimizer(TrainerRun* run, const htone_trainer_options* options, htone_dtype dtype) {
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_grad_scaler_options scaling = HTONE_GRAD_SCALER_OPTIONS_INIT;
  htone_schedule *cosine, *schedule;
  adamw.compute_dtype = dtype;
  adamw.lr = options->lr;
  scaling.enabled = dtype == HTONE_F16;
  assert_ok(htone_optimizer_create(run->model, &adamw, &run->optimizer));
  assert_ok(htone_grad_scaler_create(run->device, &scaling, &run->scaler));
  assert_ok(htone_schedule_create_cosine(options->steps - options->warmup_steps, 0, &cosine));
  assert_ok(htone_schedule_create_warmup(options->warmup_steps, 1.0 / (double)(options->warmup_steps + 1), cosine,
                                         &schedule));
  assert_ok(htone_optimizer_set_schedule(run->optimizer, schedule));
  assert_ok(htone_schedule_release(cosine));
  assert_ok(htone_schedule_release(schedule));
}

static void backward_by_hand(TrainerRun* run, double share) {
  htone_scope *handles, *autocast;
  htone_tensor *x, *labels, *loss;
  assert_ok(htone_handles_begin(&handles));
  assert_ok(htone_batches_next(run->batches));
  assert_ok(htone_batches_tensor(run->batches, 0, &x));
  assert_ok(htone_batches_tensor(run->batches, 1, &labels));
  assert_ok(htone_autocast_begin(run->policy, &autocast));
  assert_ok(trainer_loss(run, x, labels, &loss));
  assert_ok(htone_scope_end(autocast));
  assert_ok(htone_mul_scalar(loss, share, &loss));
  assert_ok(htone_grad_scaler_scale(run->scaler, loss, &loss));
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_ok(htone_scope_end(handles));
}

static void step_by_hand(TrainerRun* run, const htone_trainer_options* options) {
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  assert_ok(htone_optimizer_zero_grad(run->optimizer));
  for (int64_t i = 0; i < options->accumulate; ++i) backward_by_hand(run, 1.0 / (double)options->accumulate);
  assert_ok(htone_grad_scaler_unscale(run->scaler, run->optimizer));
  assert_ok(htone_optimizer_clip_grad_norm(run->optimizer, options->max_grad_norm, 0));
  assert_ok(htone_grad_scaler_step(run->scaler, run->optimizer));
  assert_ok(htone_optimizer_outcome(run->optimizer, &outcome));
  assert_ok(htone_grad_scaler_update(run->scaler));
  run->skipped += outcome.skipped;
}

void train_by_hand(TrainerRun* run, const htone_trainer_options* options) {
  for (size_t i = 0; i < COUNT_OF(kPrecisions); ++i) {
    if (strcmp(kPrecisions[i].name, options->precision) != 0) continue;
    make_policy(run, kPrecisions[i].dtype, kPrecisions[i].recipe);
    make_optimizer(run, options, kPrecisions[i].dtype);
  }
  for (int64_t step = 0; step < options->steps; ++step) step_by_hand(run, options);
}

/* ---- Comparison */

/* FNV-1a. */
static void mix(uint64_t* hash, const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < size; ++i) *hash = (*hash ^ bytes[i]) * 1099511628211u;
}

static void mix_tensors(uint64_t* hash, htone_state_dict* state) {
  size_t count;
  float numbers[kHidden * kFeatures];
  assert_ok(htone_state_dict_count(state, &count));
  for (size_t i = 0; i < count; ++i) {
    htone_tensor* values;
    int64_t elements;
    assert_ok(htone_state_dict_tensor(state, i, &values));
    assert_ok(htone_tensor_numel(values, &elements));
    assert_true(elements <= (int64_t)COUNT_OF(numbers));
    assert_ok(htone_tensor_read(values, HTONE_F32, numbers, (size_t)elements * sizeof *numbers));
    mix(hash, numbers, (size_t)elements * sizeof *numbers);
    assert_ok(htone_tensor_release(values));
  }
}

uint64_t trainer_fingerprint(TrainerRun* run) {
  uint64_t hash = 14695981039346656037u;
  htone_state_dict* state;
  double scale;
  int64_t updates;
  if (run->optimizer == NULL) assert_ok(htone_trainer_optimizer(run->trainer, &run->optimizer));
  if (run->scaler == NULL) assert_ok(htone_trainer_grad_scaler(run->trainer, &run->scaler));
  assert_ok(htone_grad_scaler_current_scale(run->scaler, &scale));
  assert_ok(htone_optimizer_step_count(run->optimizer, &updates));
  mix(&hash, &scale, sizeof scale);
  mix(&hash, &updates, sizeof updates);
  assert_ok(htone_module_state_dict(run->model, &state));
  mix_tensors(&hash, state);
  assert_ok(htone_state_dict_release(state));
  return hash;
}

htone_trainer_progress progress_of(const TrainerRun* run) {
  htone_trainer_progress progress = HTONE_TRAINER_PROGRESS_INIT;
  assert_ok(htone_trainer_describe(run->trainer, &progress));
  return progress;
}
