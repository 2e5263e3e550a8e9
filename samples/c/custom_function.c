/* Trains a small network with a custom activation: the squared ReLU, max(x, 0)^2, forward and backward. The library
 * records it like one of its own operations. The program first compares its gradient with finite differences. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/failure.h"
#include "halftone/halftone.h"

enum { kPoints = 256, kHidden = 32, kLayers = 3, kSteps = 400 };

/* dx = 2 max(x, 0) dy; the saved tensor is relu(x). */
static htone_status squared_relu_backward(const htone_backward_call* call, void* user) {
  (void)user;
  htone_tensor* product = NULL;
  htone_status status = htone_mul(call->grad_outputs[0], call->saved[0], &product);
  if (status == HTONE_OK) status = htone_rescale(product, 2, 0, &call->out_grad_inputs[0]);
  htone_tensor_release(product);
  return status; /* any status except HTONE_OK stops htone_tensor_backward, which reports it */
}

static htone_status squared_relu(htone_function* function, htone_tensor* x, htone_tensor** out) {
  htone_tensor *positive = NULL, *square = NULL;
  htone_status status = htone_relu(x, &positive);
  if (status == HTONE_OK) status = htone_mul(positive, positive, &square);
  if (status == HTONE_OK) status = htone_function_record(function, 1, &x, 1, &square, 1, &positive, out);
  return status; /* the scope of the training step, or of the check below, releases the two */
}

/* The activation as a layer, for htone_module_create_sequential. */
static htone_status activation_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module;
  return squared_relu(user, input, out);
}

static bool sum_at(htone_device* cpu, htone_function* function, const double* points, int64_t count, double* out) {
  htone_scope* temporaries = NULL;
  htone_tensor *x, *y, *sum;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_tensor_create_copy(cpu, HTONE_F64, 1, &count, points, &x)) &&
                    ok(squared_relu(function, x, &y)) && ok(htone_sum(y, 0, NULL, 0, &sum)) &&
                    ok(htone_tensor_item(sum, out));
  return ok(htone_scope_end(temporaries)) && done;
}

/* The gradient of the sum at some points, computed by backward in double precision. */
static bool gradient_at(htone_device* cpu, htone_function* function, const double* points, int64_t count, double* out) {
  htone_scope* temporaries = NULL;
  htone_tensor *x, *y, *sum, *gradient;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_tensor_create_copy(cpu, HTONE_F64, 1, &count, points, &x)) &&
                    ok(htone_tensor_set_requires_grad(x, 1)) && ok(squared_relu(function, x, &y)) &&
                    ok(htone_sum(y, 0, NULL, 0, &sum)) && ok(htone_tensor_backward(sum, NULL, 0)) &&
                    ok(htone_tensor_grad(x, &gradient)) &&
                    ok(htone_tensor_read(gradient, HTONE_F64, out, (size_t)count * sizeof *out));
  return ok(htone_scope_end(temporaries)) && done;
}

static bool check_gradient(htone_device* cpu, htone_function* function) {
  enum { kCount = 5 };
  const double points[kCount] = {-2, -0.5, 0.25, 1, 3}, step = 1e-6;
  double gradient[kCount], worst = 0;
  if (!gradient_at(cpu, function, points, kCount, gradient)) return false;
  for (int i = 0; i < kCount; ++i) {
    double above, below, moved[kCount];
    for (int k = 0; k < kCount; ++k) moved[k] = points[k];
    moved[i] = points[i] + step;
    if (!sum_at(cpu, function, moved, kCount, &above)) return false;
    moved[i] = points[i] - step;
    if (!sum_at(cpu, function, moved, kCount, &below)) return false;
    worst = fmax(worst, fabs((above - below) / (2 * step) - gradient[i]));
  }
  printf("gradient differs from finite differences by %.1e at most\n", worst);
  if (!(worst < 1e-6)) print_error("the backward of squared_relu does not fit its forward");
  return worst < 1e-6;
}

/* Two classes of points in a square: inside and outside a circle. */
static bool make_data(htone_device* cpu, htone_tensor** out_points, htone_tensor** out_classes) {
  float points[kPoints][2];
  int64_t classes[kPoints];
  const int64_t shape[] = {kPoints, 2};
  for (int i = 0; i < kPoints; ++i) {
    points[i][0] = (float)(i % 16) / 7.5f - 1;
    points[i][1] = (float)(i / 16) / 7.5f - 1;
    classes[i] = hypotf(points[i][0], points[i][1]) < 0.75f;
  }
  return ok(htone_tensor_create_copy(cpu, HTONE_F32, 2, shape, points, out_points)) &&
         ok(htone_tensor_create_copy(cpu, HTONE_I64, 1, shape, classes, out_classes));
}

static bool make_model(htone_device* cpu, htone_function* function, htone_module** out_model) {
  htone_module* layers[kLayers] = {NULL};
  return ok(htone_module_create_linear(cpu, 2, kHidden, NULL, &layers[0])) &&
         ok(htone_module_create_custom(activation_forward, function, NULL, NULL, &layers[1])) &&
         ok(htone_module_create_linear(cpu, kHidden, 2, NULL, &layers[2])) &&
         ok(htone_module_create_sequential(kLayers, layers, out_model));
}

static bool train_step(htone_module* model, htone_optimizer* optimizer, htone_tensor* points, htone_tensor* classes) {
  htone_scope* temporaries;
  htone_tensor *logits, *loss;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_optimizer_zero_grad(optimizer)) &&
                    ok(htone_module_forward(model, points, NULL, &logits)) &&
                    ok(htone_cross_entropy(logits, classes, NULL, &loss)) && ok(htone_tensor_backward(loss, NULL, 0)) &&
                    ok(htone_optimizer_step(optimizer));
  return ok(htone_scope_end(temporaries)) && done;
}

static bool train(htone_device* cpu, htone_function* function) {
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_tensor *points, *classes, *logits, *accuracy;
  htone_module* model;
  htone_optimizer* optimizer;
  double value;
  adamw.lr = 0.01;
  bool done = make_data(cpu, &points, &classes) && make_model(cpu, function, &model) &&
              ok(htone_optimizer_create(model, &adamw, &optimizer));
  for (int step = 0; step < kSteps && done; ++step) done = train_step(model, optimizer, points, classes);
  done = done && ok(htone_module_forward(model, points, NULL, &logits)) &&
         ok(htone_accuracy(logits, classes, &accuracy)) && ok(htone_tensor_item(accuracy, &value));
  if (done) printf("accuracy %.4f\n", value);
  return done;
}

static bool run(void) {
  htone_context* context;
  htone_device* cpu;
  htone_function* function;
  return ok(htone_context_create(NULL, &context)) && ok(htone_device_create(context, "cpu", &cpu)) &&
         ok(htone_function_create("squared_relu", squared_relu_backward, NULL, NULL, &function)) &&
         check_gradient(cpu, function) && train(cpu, function);
}

int main(void) {
  htone_scope* program; /* releases every object of the program */
  int64_t handles = -1;
  if (!ok(htone_handles_begin(&program))) return 1;
  bool done = run();
  done = ok(htone_scope_end(program)) && ok(htone_debug_live_handles(&handles)) && done;
  return done && handles == 0 ? 0 : 1;
}
