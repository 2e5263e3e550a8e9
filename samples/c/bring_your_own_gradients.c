/* Trains a logistic regression whose arrays, loss and gradients belong to the program: halftone has no model and runs
 * no forward or backward. It only does the step: it reads the FP16 gradients in the program's memory, skips the step if
 * one of them overflowed, adjusts the loss scale, and updates the program's FP32 weights in place.
 *
 * One parameter is passed as a pointer, the other by DLPack, as an array library would lend it. Checkpoints store the
 * weights as a state dict over the program's memory. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/dlpack_standard.h"
#include "common/failure.h"
#include "common/journal.h"
#include "common/short_options.h"
#include "halftone/halftone.h"

static const char kSummary[] = "Trains a logistic regression of the program's own with AdamW and prints its accuracy.";

enum { kFeatures = 16, kSamples = 2048, kBatch = 64 };

typedef struct data_set {
  float features[kSamples][kFeatures];
  int labels[kSamples];
} data_set;

/* Owned by the program: weights, and their gradients in 16 bits, since the program computes in mixed precision. */
typedef struct model {
  float weight[kFeatures];
  float bias;
  uint16_t weight_grad[kFeatures];
  uint16_t bias_grad;
} model;

/* Owned by the library. */
typedef struct trainer {
  htone_scope* objects; /* releases everything that follows */
  htone_context* context;
  htone_device* device;
  htone_parameters* parameters;
  htone_state_dict* weights; /* for checkpoints: views of the program's memory, which a load writes in place */
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  journal journal;
} trainer;

/* The next of a fixed series of numbers in [-1, 1), by splitmix64. */
static float next_number(uint64_t* series) {
  uint64_t z = (*series += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (float)((z ^ (z >> 31)) >> 40) / (float)(1 << 23) - 1;
}

/* Points in a cube. The label of a point is its side of a hidden plane. */
static void make_data(data_set* data) {
  uint64_t series = 1;
  float normal[kFeatures];
  for (int j = 0; j < kFeatures; ++j) normal[j] = next_number(&series);
  for (int i = 0; i < kSamples; ++i) {
    float side = 0.25f;
    for (int j = 0; j < kFeatures; ++j) {
      data->features[i][j] = next_number(&series);
      side += normal[j] * data->features[i][j];
    }
    data->labels[i] = side > 0;
  }
}

static float logit_of(const model* m, const float* features) {
  float logit = m->bias;
  for (int j = 0; j < kFeatures; ++j) logit += m->weight[j] * features[j];
  return logit;
}

/* The nearest FP16, ties to even; infinite from 65520. */
static uint16_t to_half(float value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const float magnitude = fabsf(value);
  if (isnan(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 0x1p-14f) return sign | (uint16_t)lrintf(magnitude * 0x1p24f); /* subnormal */
  uint32_t bits;
  memcpy(&bits, &magnitude, sizeof bits);
  bits += 0xfff + (bits >> 13 & 1);
  return sign | (uint16_t)((bits >> 13) - ((127 - 15) << 10));
}

/* The loss of one sample, in a form in which no logit overflows. */
static float loss_of(float logit, int label) {
  return fmaxf(logit, 0) - logit * (float)label + log1pf(expf(-fabsf(logit)));
}

/* Computes the gradients of `scale` times the summed loss of the batch: each sample adds (probability - label) *
 * features. Returns the mean loss. */
static float compute_gradients(model* m, const data_set* data, int first, double scale) {
  float weight_sum[kFeatures] = {0}, bias_sum = 0, loss_sum = 0;
  for (int i = first; i < first + kBatch; ++i) {
    const float* features = data->features[i];
    const float logit = logit_of(m, features);
    const float error = 1 / (1 + expf(-logit)) - (float)data->labels[i];
    for (int j = 0; j < kFeatures; ++j) weight_sum[j] += error * features[j];
    bias_sum += error;
    loss_sum += loss_of(logit, data->labels[i]);
  }
  for (int j = 0; j < kFeatures; ++j) m->weight_grad[j] = to_half((float)scale * weight_sum[j]);
  m->bias_grad = to_half((float)scale * bias_sum);
  return loss_sum / kBatch;
}

static double accuracy_of(const model* m, const data_set* data) {
  int right = 0;
  for (int i = 0; i < kSamples; ++i) right += (logit_of(m, data->features[i]) > 0) == data->labels[i];
  return (double)right / kSamples;
}

/* Makes a parameter of the weights and sets its gradient. The optimizer reads the gradient in place, so the program
 * sets it once and rewrites it in each step. */
static bool add_parameter(trainer* t, const char* name, htone_tensor* weights, int32_t ndim, const int64_t* shape,
                          uint16_t* grad) {
  htone_parameter* parameter = NULL;
  htone_tensor* gradient = NULL;
  return ok(htone_parameter_create(name, weights, &parameter)) &&
         ok(htone_tensor_from_buffer(t->device, HTONE_F16, ndim, shape, grad, NULL, NULL, &gradient)) &&
         ok(htone_parameter_set_grad(parameter, gradient)) && ok(htone_parameters_add(t->parameters, parameter)) &&
         ok(htone_state_dict_add(t->weights, name, weights));
}

/* A lent array must live until its deleter runs. This one has no deleter: main keeps the model and the loan until after
 * the last handle is released. */
static bool add_parameters(trainer* t, model* m, DLManagedTensorVersioned* loan) {
  const int64_t shape = kFeatures;
  htone_tensor *weight = NULL, *bias = NULL;
  loan->version = (DLPackVersion){1, 0};
  loan->dl_tensor = (DLTensor){.data = &m->bias, .device = {kDLCPU, 0}, .dtype = {kDLFloat, 32, 1}}; /* a scalar */
  return ok(htone_parameters_create(&t->parameters)) && ok(htone_state_dict_create(&t->weights)) &&
         ok(htone_tensor_from_buffer(t->device, HTONE_F32, 1, &shape, m->weight, NULL, NULL, &weight)) &&
         ok(htone_tensor_from_dlpack_versioned(t->device, loan, &bias)) &&
         add_parameter(t, "weight", weight, 1, &shape, m->weight_grad) &&
         add_parameter(t, "bias", bias, 0, NULL, &m->bias_grad);
}

static bool open_journal(trainer* t, const short_options* options) {
  const checkpoint_parts parts = {
      .context = t->context, .weights = t->weights, .optimizer = t->optimizer, .scaler = t->scaler};
  return journal_open(&t->journal, &options->run, &parts);
}

static bool open_trainer(trainer* t, model* m, DLManagedTensorVersioned* loan) {
  htone_adamw_options options = HTONE_ADAMW_OPTIONS_INIT;
  options.lr = 0.05;
  return ok(htone_handles_begin(&t->objects)) && ok(htone_context_create(NULL, &t->context)) &&
         ok(htone_device_create(t->context, "cpu", &t->device)) && add_parameters(t, m, loan) &&
         ok(htone_optimizer_create_adamw_over(t->parameters, &options, &t->optimizer)) &&
         ok(htone_grad_scaler_create(t->device, NULL, &t->scaler));
}

/* Describes the coming step; computes the gradient norm only for the log. */
static bool describe_step(trainer* t, train_record* record) {
  return ok(htone_optimizer_lr(t->optimizer, &record->lr)) &&
         (t->journal.log.file == NULL || (ok(htone_grad_scaler_unscale(t->scaler, t->optimizer)) &&
                                          ok(htone_optimizer_grad_norm(t->optimizer, &record->grad_norm))));
}

static bool step_and_update_scale(trainer* t, train_record* record) {
  double next_scale;
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  if (!ok(htone_grad_scaler_step(t->scaler, t->optimizer)) || !ok(htone_optimizer_outcome(t->optimizer, &outcome)) ||
      !ok(htone_grad_scaler_update(t->scaler)) || !ok(htone_grad_scaler_current_scale(t->scaler, &next_scale))) {
    return false;
  }
  record->outcome = outcome.skipped ? "skipped" : "stepped";
  if (outcome.skipped) {
    printf("step %lld skipped: the gradient of %s has %s; the scale falls from %g to %g\n", (long long)record->step,
           outcome.parameter, outcome.kind == HTONE_NOT_FINITE_NAN ? "a NaN" : "an infinity", record->loss_scale,
           next_scale);
  }
  return true;
}

static bool train_step(trainer* t, model* m, const data_set* data, train_record* record) {
  const int first = (int)((record->step - 1) * kBatch % kSamples);
  if (!ok(htone_grad_scaler_current_scale(t->scaler, &record->loss_scale))) return false;
  record->loss = compute_gradients(m, data, first, record->loss_scale);
  return describe_step(t, record) && step_and_update_scale(t, record);
}

static bool train(trainer* t, model* m, const data_set* data, int64_t steps) {
  bool done = true;
  while (done && t->journal.steps_done < steps) {
    train_record record = journal_begin_step(&t->journal);
    done = train_step(t, m, data, &record) && journal_end_step(&t->journal, &record, kBatch, record.step == steps);
  }
  return done;
}

/* Returns whether the log was closed without an error and every object of the library is released. */
static bool release(trainer* t) {
  int64_t handles;
  const bool closed = journal_close(&t->journal);
  if (t->objects != NULL && !ok(htone_scope_end(t->objects))) return false;
  if (!ok(htone_debug_live_handles(&handles))) return false;
  if (handles != 0) print_error("%lld handles of the library are still alive", (long long)handles);
  return closed && handles == 0;
}

int main(int argc, char** argv) {
  static data_set data;
  static model m;
  static DLManagedTensorVersioned loan;
  short_options options;
  int status;
  if (!short_options_parse(argc, argv, kSummary, &options, &status)) return status;
  trainer t = {.objects = NULL};
  make_data(&data);
  const bool done = open_trainer(&t, &m, &loan) && open_journal(&t, &options) && train(&t, &m, &data, options.steps);
  if (done) printf("accuracy %.4f\n", accuracy_of(&m, &data));
  return release(&t) && done ? kExitOk : kExitFailure;
}
