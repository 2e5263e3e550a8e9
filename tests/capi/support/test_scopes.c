#include "test_scopes.h"

htone_scope* begin_handles(void) {
  htone_scope* scope = NULL;
  assert_ok(htone_handles_begin(&scope));
  return scope;
}

htone_tensor* new_tensor(void) {
  static const int64_t shape[] = {2, 2};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 1.5, &tensor));
  return tensor;
}

int is_alive(htone_tensor* tensor) {
  int64_t count = 0;
  return htone_tensor_numel(tensor, &count) == HTONE_OK;
}

int records(htone_tensor* x) {
  htone_tensor* out = NULL;
  int32_t requires_grad = 0;
  assert_ok(htone_mul(x, x, &out));
  assert_ok(htone_tensor_requires_grad(out, &requires_grad));
  assert_ok(htone_tensor_release(out));
  return requires_grad;
}
