#include "host_arrays.h"

static void count_call(void* user) { ++*(int*)user; }

htone_tensor* over(htone_dtype dtype, void* data) {
  const int64_t shape = kSize;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), dtype, 1, &shape, data, NULL, NULL, &tensor));
  return keep_tensor(tensor);
}

htone_tensor* lend_gradient(Host* host) {
  const int64_t shape = kSize;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, host->gradient, count_call, &host->deletions,
                                     &tensor));
  return tensor;
}

htone_parameter* host_parameter(Host* host) { return make_parameter("lent", over(HTONE_F32, host->weights)); }

htone_optimizer* descend(htone_parameter* parameter) {
  const htone_optimizer_options options = sgd_options(1);
  return make_sgd_over(make_parameters(parameter), &options);
}

void assert_floats(const float* actual, float a, float b, float c, float d) {
  const float expected[kSize] = {a, b, c, d};
  for (int i = 0; i < kSize; ++i) assert_near(actual[i], expected[i], 0);
}
