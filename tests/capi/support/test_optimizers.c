#include "test_optimizers.h"

htone_parameter* make_parameter(const char* name, htone_tensor* weights) {
  htone_parameter* made = NULL;
  assert_ok(htone_parameter_create(name, weights, &made));
  return keep_parameter(made);
}

htone_parameters* make_parameters(htone_parameter* parameter) {
  htone_parameters* made = NULL;
  assert_ok(htone_parameters_create(&made));
  keep_parameters(made);
  assert_ok(htone_parameters_add(made, parameter));
  return made;
}

htone_tensor* tensor_of(htone_parameter* parameter) {
  htone_tensor* out = NULL;
  assert_ok(htone_parameter_tensor(parameter, &out));
  return keep_tensor(out);
}

htone_tensor* read_as(htone_parameter* parameter, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_parameter_read(parameter, dtype, &out));
  return keep_tensor(out);
}

htone_optimizer_options sgd_options(double lr) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  options.lr = lr;
  return options;
}

htone_optimizer* make_sgd(htone_module* module, double lr) {
  const htone_optimizer_options options = sgd_options(lr);
  return make_sgd_with(module, &options);
}

static const htone_optimizer_options kPlainSgd = HTONE_SGD_OPTIONS_INIT;

htone_optimizer* make_sgd_with(htone_module* module, const htone_optimizer_options* options) {
  htone_optimizer* made = NULL;
  assert_ok(htone_optimizer_create(module, options != NULL ? options : &kPlainSgd, &made));
  return keep_optimizer(made);
}

htone_optimizer* make_sgd_over(htone_parameters* parameters, const htone_optimizer_options* options) {
  htone_optimizer* made = NULL;
  assert_ok(htone_optimizer_create_over(parameters, options != NULL ? options : &kPlainSgd, &made));
  return keep_optimizer(made);
}

htone_optimizer* make_adamw(htone_module* module, const htone_optimizer_options* options) {
  htone_optimizer* made = NULL;
  assert_ok(htone_optimizer_create(module, options, &made));
  return keep_optimizer(made);
}

double grad_norm_of(htone_optimizer* optimizer) {
  double norm = -1;
  assert_ok(htone_optimizer_grad_norm(optimizer, &norm));
  return norm;
}

htone_step_outcome outcome_of(htone_optimizer* optimizer) {
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  assert_ok(htone_optimizer_outcome(optimizer, &outcome));
  return outcome;
}

htone_grad_scaler* make_grad_scaler(const htone_grad_scaler_options* options) {
  htone_grad_scaler* made = NULL;
  assert_ok(htone_grad_scaler_create(test_device(), options, &made));
  return keep_grad_scaler(made);
}

double loss_scale_of(htone_grad_scaler* scaler) {
  double scale = 0;
  assert_ok(htone_grad_scaler_current_scale(scaler, &scale));
  return scale;
}

void backward_scaled(htone_grad_scaler* scaler, htone_tensor* loss) {
  htone_tensor* scaled = NULL;
  assert_ok(htone_grad_scaler_scale(scaler, loss, &scaled));
  backward(keep_tensor(scaled));
}
