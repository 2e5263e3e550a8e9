/* Trains a logistic regression whose arrays, loss and gradients belong to the program: halftone has no model and runs
 * no forward or backward. It only does the step: it reads the FP16 gradients in the program's memory, skips the step if
 * one of them overflowed, adjusts the loss scale, and updates the program's FP32 weights in place.
 *
 * One parameter is passed as a pointer, the other by DLPack, as an array library would lend it. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/dlpack_standard.h"
#include "common/failure.h"
#include "halftone/halftone.h"

enum { kFeatures = 16, kSamples = 2048, kBatch = 64, kSteps = 400 };

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
  htone_device* device;
  htone_parameters* parameters;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
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

/* Computes the gradients of `scale` times the summed loss of the batch. The loss of a sample is its cross entropy, so
 * each sample adds (probability - label) * features. */
static void compute_gradients(model* m, const data_set* data, int first, double scale) {
  float weight_sum[kFeatures] = {0}, bias_sum = 0;
  for (int i = first; i < first + kBatch; ++i) {
    const float* features = data->features[i];
    const float error = 1 / (1 + expf(-logit_of(m, features))) - (float)data->labels[i];
    for (int j = 0; j < kFeatures; ++j) weight_sum[j] += error * features[j];
    bias_sum += error;
  }
  for (int j = 0; j < kFeatures; ++j) m->weight_grad[j] = to_half((float)scale * weight_sum[j]);
  m->bias_grad = to_half((float)scale * bias_sum);
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
         ok(htone_parameter_set_grad(parameter, gradient)) && ok(htone_parameters_add(t->parameters, parameter));
}

/* A lent array must live until its deleter runs. This one has no deleter: main keeps the model and the loan until after
 * the last handle is released. */
static bool add_parameters(trainer* t, model* m, DLManagedTensorVersioned* loan) {
  const int64_t shape = kFeatures;
  htone_tensor *weight = NULL, *bias = NULL;
  loan->version = (DLPackVersion){1, 0};
  loan->dl_tensor = (DLTensor){.data = &m->bias, .device = {kDLCPU, 0}, .dtype = {kDLFloat, 32, 1}}; /* a scalar */
  return ok(htone_parameters_create(&t->parameters)) &&
         ok(htone_tensor_from_buffer(t->device, HTONE_F32, 1, &shape, m->weight, NULL, NULL, &weight)) &&
         ok(htone_tensor_from_dlpack_versioned(t->device, loan, &bias)) &&
         add_parameter(t, "weight", weight, 1, &shape, m->weight_grad) &&
         add_parameter(t, "bias", bias, 0, NULL, &m->bias_grad);
}

static bool open_trainer(trainer* t, model* m, DLManagedTensorVersioned* loan) {
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  htone_context* context;
  options.lr = 0.05;
  return ok(htone_context_create(NULL, &context)) && ok(htone_device_create(context, "cpu", &t->device)) &&
         add_parameters(t, m, loan) && ok(htone_optimizer_create_over(t->parameters, &options, &t->optimizer)) &&
         ok(htone_grad_scaler_create(t->device, NULL, &t->scaler));
}

static bool train_step(trainer* t, model* m, const data_set* data, int step) {
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  double scale, next_scale;
  if (!ok(htone_grad_scaler_current_scale(t->scaler, &scale))) return false;
  compute_gradients(m, data, step * kBatch % kSamples, scale);
  if (!ok(htone_grad_scaler_step(t->scaler, t->optimizer)) || !ok(htone_optimizer_outcome(t->optimizer, &outcome)) ||
      !ok(htone_grad_scaler_update(t->scaler)) || !ok(htone_grad_scaler_current_scale(t->scaler, &next_scale))) {
    return false;
  }
  if (outcome.skipped) {
    printf("step %d skipped: the gradient of %s has %s; the scale falls from %g to %g\n", step + 1, outcome.parameter,
           outcome.kind == HTONE_NOT_FINITE_NAN ? "a NaN" : "an infinity", scale, next_scale);
  }
  return true;
}

int main(void) {
  static data_set data;
  static model m;
  static DLManagedTensorVersioned loan;
  htone_scope* program; /* releases every object of the library */
  trainer t;
  int64_t handles = -1;
  make_data(&data);
  if (!ok(htone_handles_begin(&program))) return 1;
  bool done = open_trainer(&t, &m, &loan);
  for (int step = 0; step < kSteps && done; ++step) done = train_step(&t, &m, &data, step);
  done = ok(htone_scope_end(program)) && ok(htone_debug_live_handles(&handles)) && done;
  if (done) printf("accuracy %.4f\n", accuracy_of(&m, &data));
  return done && handles == 0 ? 0 : 1;
}
