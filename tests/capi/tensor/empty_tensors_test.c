/* Empty tensors with one huge size that no loop could count through: every operation must return at once. */
#include "run_tests.h"

enum { kOperations = 13 };

static const int64_t kHuge = (int64_t)1 << 40;

static htone_status apply(int operation, htone_tensor* x, const int64_t shape[2], htone_tensor** out) {
  const int64_t both[] = {0, 1};
  htone_tensor* twice[] = {x, x};
  switch (operation) {
    case 0:
      return htone_cumsum(x, 0, out);
    case 1:
      return htone_cumsum(x, 1, out);
    case 2:
      return htone_softmax(x, 0, out);
    case 3:
      return htone_softmax(x, 1, out);
    case 4:
      return htone_log_softmax(x, 1, out);
    case 5:
      return htone_flip(x, 2, both, out);
    case 6:
      return htone_tril(x, 0, out);
    case 7:
      return htone_triu(x, 0, out);
    case 8:
      return htone_cast(x, HTONE_BF16, out);
    case 9:
      return htone_relu(x, out);
    case 10:
      return htone_add(x, x, out);
    case 11:
      return htone_cat(2, twice, shape[0] == 0 ? 0 : 1, out);
    default:
      return htone_pad(x, 0, NULL, 0, out);
  }
}

static void ends_at_once(int operation, const int64_t shape[2]) {
  htone_tensor *x = NULL, *out = NULL, *sum = NULL;
  int64_t elements = -1;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 1, &x));
  assert_ok(htone_tensor_set_requires_grad(keep_tensor(x), 1));
  assert_ok(apply(operation, x, shape, &out));
  assert_ok(htone_tensor_numel(keep_tensor(out), &elements));
  assert_int_equal(elements, 0);
  assert_ok(htone_sum(out, 0, NULL, 0, &sum));
  assert_ok(htone_tensor_backward(keep_tensor(sum), NULL, 0));
}

static void operations_on_nothing_end_at_once(void** state) {
  (void)state;
  const int64_t shapes[][2] = {{kHuge, 0}, {0, kHuge}};
  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    for (int operation = 0; operation < kOperations; ++operation) ends_at_once(operation, shapes[i]);
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operations_on_nothing_end_at_once)};
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
