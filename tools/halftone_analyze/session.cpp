#include "session.h"

#include <stdexcept>

namespace halftone_analyze {

void check(htone_status status) {
  if (status == HTONE_OK) return;
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  htone_error_last(&info);
  throw std::runtime_error(info.message);
}

Session::Session() {
  htone_context* context = nullptr;
  check(htone_context_default(&context));
  check(htone_device_create(context, "cpu", &device_));
}

htone_tensor* Session::tensor_of(const std::vector<double>& values) {
  const int64_t count = static_cast<int64_t>(values.size());
  htone_tensor* tensor = nullptr;
  check(htone_tensor_create_copy(device_, HTONE_F64, 1, &count, values.data(), &tensor));
  return tensor;
}

htone_tensor* Session::repeated(double value, int64_t count) {
  const int64_t one = 1;
  htone_tensor* number = nullptr;
  htone_tensor* tensor = nullptr;
  check(htone_tensor_create_full(device_, HTONE_F64, 1, &one, value, &number));
  check(htone_broadcast_to(number, 1, &count, &tensor));
  return tensor;
}

htone_tensor* Session::full(htone_dtype dtype, const std::vector<int64_t>& shape, double value) {
  htone_tensor* tensor = nullptr;
  check(htone_tensor_create_full(device_, dtype, static_cast<int32_t>(shape.size()), shape.data(), value, &tensor));
  return tensor;
}

void Session::wait() { check(htone_device_synchronize(device_)); }

htone_state_dict* Session::open(const std::string& path) {
  htone_state_dict* file = nullptr;
  check(htone_safetensors_open(device_, path.c_str(), &file));
  return file;
}

}  // namespace halftone_analyze
