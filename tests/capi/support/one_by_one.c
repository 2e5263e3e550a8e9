#include "one_by_one.h"

htone_module* one_by_one(double value) {
  htone_module* module = make_linear(test_device(), 1, 1, 1);
  for (size_t i = 0; i < 2; ++i) assert_ok(htone_tensor_fill(weights_of(module, i), value));
  return module;
}

double value_of(htone_module* module, size_t index) {
  return item_of(sum_of(read_parameter(module, index, HTONE_F32)));
}

void give_gradient(htone_module* module, size_t index, double gradient) {
  backward(sum_of(apply2(htone_mul, weights_of(module, index), make_scalar(HTONE_F32, gradient))));
}

void train_one_step(htone_optimizer* optimizer, htone_module* module, double gradient) {
  assert_ok(htone_optimizer_zero_grad(optimizer));
  for (size_t i = 0; i < 2; ++i) give_gradient(module, i, gradient);
  assert_ok(htone_optimizer_step(optimizer));
}
