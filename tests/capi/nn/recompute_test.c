/* Recomputation through the C API: custom modules run again, and marks. tests/nn/recompute_*_test.cpp have the rest. */
#include <string.h>

#include "test_optimizers.h"

typedef struct Probe {
  int calls;       /* of the forward */
  int again;       /* those that are second forwards */
  int differs;     /* the second forward saves more tensors */
  int fails_again; /* the second forward fails */
} Probe;

/* x^4 by two products, which save their operands. */
static htone_status run_probe(htone_module* module, const htone_forward_call* call, void* user) {
  Probe* probe = user;
  int32_t is_second = 0;
  htone_tensor *square = NULL, *more = NULL;
  (void)module;
  htone_status status = htone_is_recomputing(&is_second);
  ++probe->calls;
  probe->again += is_second;
  if (is_second && probe->fails_again) return htone_error_set(HTONE_ERROR_CANCELLED, "the probe was told to stop");
  if (status == HTONE_OK) status = htone_mul(call->inputs[0], call->inputs[0], &square);
  if (status == HTONE_OK && is_second && probe->differs) status = htone_exp(square, &more);
  if (status == HTONE_OK) status = htone_mul(square, square, call->out_tensors);
  htone_tensor_release(more);
  htone_tensor_release(square);
  return status;
}

static htone_module* make_probe(Probe* probe) {
  htone_module* module = NULL;
  *probe = (Probe){0};
  assert_ok(htone_module_create_custom(run_probe, probe, NULL, NULL, &module));
  assert_ok(htone_module_set_recompute(keep_module(module), 1));
  return module;
}

static void a_custom_module_is_told_of_its_second_forward(void** state) {
  (void)state;
  static Probe probe;
  htone_module* module = make_probe(&probe);
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  int32_t is_second = 1;
  backward(sum_of(forward(module, x)));
  assert_values(grad_of(x), 0, 4, 32);
  assert_int_equal(probe.calls, 2);
  assert_int_equal(probe.again, 1);
  assert_ok(htone_is_recomputing(&is_second));
  assert_int_equal(is_second, 0);
}

static void modules_are_marked_by_path_and_kind(void** state) {
  (void)state;
  htone_module* layers[] = {make_linear(test_device(), 2, 2, 0), make_linear(test_device(), 2, 2, 0), NULL};
  size_t count = 0;
  int32_t recomputes = -1;
  assert_ok(htone_module_create_relu(&layers[2]));
  keep_module(layers[2]);
  htone_module* model = make_sequential(3, layers);
  assert_ok(htone_module_set_recompute_matching(model, "?", "linear", 1, &count));
  assert_int_equal(count, 2);
  assert_ok(htone_module_recomputes(layers[1], &recomputes));
  assert_int_equal(recomputes, 1);
  assert_ok(htone_module_recomputes(layers[2], &recomputes));
  assert_int_equal(recomputes, 0);
  assert_ok(htone_module_set_recompute_matching(model, NULL, NULL, 0, &count));
  assert_int_equal(count, 4);
  assert_ok(htone_module_recomputes(layers[1], &recomputes));
  assert_int_equal(recomputes, 0);
}

static void a38_a_forward_that_differs_or_fails_the_second_time_is_an_error(void** state) {
  (void)state;
  static Probe probe;
  htone_module* module = make_probe(&probe);
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  probe.differs = 1;
  assert_fails(htone_tensor_backward(sum_of(forward(module, x)), NULL, 0), HTONE_ERROR_STATE,
               "the forward of the module of kind custom is not the same twice, as recomputing it requires");
  probe.differs = 0;
  probe.fails_again = 1;
  assert_fails(htone_tensor_backward(sum_of(forward(module, x)), NULL, 0), HTONE_ERROR_CALLBACK,
               "the probe was told to stop");
  probe.fails_again = 0;
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(forward(module, x)));
  assert_values(grad_of(x), 0, 4, 32);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_custom_module_is_told_of_its_second_forward),
      cmocka_unit_test(modules_are_marked_by_path_and_kind),
      cmocka_unit_test(a38_a_forward_that_differs_or_fails_the_second_time_is_an_error),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
