#include "runner/halftone.h"

namespace vectors {

Tensor make_matrix(htone_device* device, htone_dtype dtype, const std::vector<double>& values, int64_t rows) {
  const int64_t shape[] = {rows, static_cast<int64_t>(values.size()) / rows};
  Tensor wide = make<Tensor>(htone_tensor_create_copy, device, HTONE_F64, 2, shape, values.data());
  return make<Tensor>(htone_cast, wide.get(), dtype);
}

Weights::Weights(htone_device* device, const std::vector<double>& values, int64_t rows)
    : device_(device), size_(static_cast<int64_t>(values.size())), rows_(rows) {
  htone_linear_options options;
  ok(htone_linear_options_init(&options));
  options.bias = 0;
  module_ = make<Module>(htone_module_create_linear, device, size_ / rows_, rows_, &options);
  parameter_ = make<Parameter>(htone_module_parameter, module_.get(), size_t{0});
  const Tensor leaf = make<Tensor>(htone_parameter_tensor, parameter_.get());
  const std::vector<float> words(values.begin(), values.end());
  ok(htone_tensor_write(leaf.get(), HTONE_F32, words.data(), words.size() * sizeof(float)));
}

std::vector<double> Weights::read() const {
  const Tensor master = make<Tensor>(htone_parameter_read, parameter_.get(), HTONE_F32);
  std::vector<float> words(static_cast<size_t>(size_));
  ok(htone_tensor_read(master.get(), HTONE_F32, words.data(), words.size() * sizeof(float)));
  return {words.begin(), words.end()};
}

// `gradient` is the gradient of sum(weights * gradient).
void Weights::backward(htone_grad_scaler* scaler, const std::vector<double>& gradient) const {
  const Tensor leaf = make<Tensor>(htone_parameter_tensor, parameter_.get());
  htone_dtype dtype = HTONE_F32;
  ok(htone_tensor_dtype(leaf.get(), &dtype));
  const Tensor product = make<Tensor>(htone_mul, leaf.get(), make_matrix(device_, dtype, gradient, rows_).get());
  Tensor loss = make<Tensor>(htone_sum, product.get(), 0, static_cast<const int64_t*>(nullptr), 0);
  if (scaler != nullptr) loss = make<Tensor>(htone_grad_scaler_scale, scaler, loss.get());
  ok(htone_tensor_backward(loss.get(), nullptr, 0));
}

}  // namespace vectors
