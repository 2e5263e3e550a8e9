/* htone_activation_linear: the bits of an activation and a linear layer, with one tensor less kept for backward. */
#include <stdlib.h>

#include "test_tensors.h"

enum { kRows = 19, kIn = 35, kOut = 21, kParts = 4 };

static const htone_activation kActivations[] = {HTONE_ACTIVATION_RELU, HTONE_ACTIVATION_GELU_ERF,
                                                HTONE_ACTIVATION_GELU_TANH, HTONE_ACTIVATION_SILU};

static htone_tensor* activate(htone_tensor* input, htone_activation activation) {
  htone_tensor* out = NULL;
  if (activation == HTONE_ACTIVATION_RELU) {
    assert_ok(htone_relu(input, &out));
  } else if (activation == HTONE_ACTIVATION_SILU) {
    assert_ok(htone_silu(input, &out));
  } else {
    assert_ok(htone_gelu(input, activation == HTONE_ACTIVATION_GELU_ERF ? HTONE_GELU_ERF : HTONE_GELU_TANH, &out));
  }
  return keep_tensor(out);
}

static htone_tensor* together(htone_tensor* const in[3], htone_activation activation) {
  htone_tensor* out = NULL;
  assert_ok(htone_activation_linear(in[0], in[1], in[2], activation, &out));
  return keep_tensor(out);
}

static htone_tensor* apart(htone_tensor* const in[3], htone_activation activation) {
  htone_tensor* out = NULL;
  assert_ok(htone_linear(activate(in[0], activation), in[1], in[2], &out));
  return keep_tensor(out);
}

typedef htone_tensor* (*Layer)(htone_tensor* const in[3], htone_activation activation);

typedef struct {
  htone_dtype input, weight;
  int has_bias, is_strided;
} Operands;

/* The gradient of a square differs from element to element. */
static void run_layer(Layer layer, const Operands* of, htone_activation activation, htone_tensor* out[kParts]) {
  htone_tensor* in[] = {
      leaf(of->is_strided ? make_noise(of->input, 1, 3, kIn, 2, kRows) : make_noise(of->input, 1, 3, 2, kRows, kIn)),
      leaf(make_noise(of->weight, 2, 2, kOut, kIn)), of->has_bias ? leaf(make_noise(of->weight, 3, 1, kOut)) : NULL};
  htone_tensor* const given[] = {of->is_strided ? transpose_of(in[0], 0, 2) : in[0], in[1], in[2]};
  out[0] = layer(given, activation);
  backward(sum_of(apply2(htone_mul, out[0], out[0])));
  for (int i = 0; i < 3; ++i) out[1 + i] = in[i] == NULL ? NULL : grad_of(in[i]);
}

static void assert_same_bits(htone_tensor* a, htone_tensor* b) {
  double *left = values_of(a), *right = values_of(b);
  assert_int_equal(dtype_of(a), dtype_of(b));
  assert_int_equal(numel_of(a), numel_of(b));
  assert_memory_equal(left, right, (size_t)numel_of(a) * sizeof *left);
  free(left);
  free(right);
}

static void assert_same_layer(const Operands* of) {
  for (size_t i = 0; i < COUNT_OF(kActivations); ++i) {
    htone_tensor *one[kParts] = {NULL}, *two[kParts] = {NULL};
    run_layer(together, of, kActivations[i], one);
    run_layer(apart, of, kActivations[i], two);
    for (int part = 0; part < kParts - !of->has_bias; ++part) assert_same_bits(one[part], two[part]);
  }
}

static void results_and_gradients_have_the_bits_of_two_operations(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_F64, HTONE_BF16, HTONE_F16};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    assert_same_layer(&(Operands){dtypes[i], dtypes[i], 1, 0});
    assert_same_layer(&(Operands){dtypes[i], dtypes[i], 0, 1});
  }
}

/* An FP32 argument is rounded after the activation, and one of the other 16-bit dtype is rounded twice. */
static void they_have_these_bits_under_autocast(void** state) {
  (void)state;
  static const htone_dtype policies[] = {HTONE_BF16, HTONE_F16}, arguments[] = {HTONE_F32, HTONE_BF16, HTONE_F16};
  for (size_t i = 0; i < COUNT_OF(policies); ++i) {
    htone_autocast_policy* policy = NULL;
    htone_scope* scope = NULL;
    assert_ok(htone_autocast_policy_create(policies[i], &policy));
    assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
    for (size_t j = 0; j < COUNT_OF(arguments); ++j) assert_same_layer(&(Operands){arguments[j], HTONE_F32, 1, 0});
    assert_ok(htone_scope_end(scope));
  }
}

static int64_t bytes_in_use(void) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(test_device(), &stats));
  return stats.current;
}

/* Until backward, two operations keep the activation's result beside its argument. */
static void the_argument_alone_is_kept_for_backward(void** state) {
  (void)state;
  enum { kSide = 64, kWide = 256, kResultBytes = kSide * kSide * 4, kActivatedBytes = kSide * kWide * 4 };
  htone_tensor *x = leaf(make_noise(HTONE_F32, 1, 2, kSide, kWide)),
               *w = leaf(make_noise(HTONE_F32, 2, 2, kSide, kWide)), *made = NULL, *out = NULL;
  const int64_t before = bytes_in_use();
  assert_ok(htone_activation_linear(x, w, NULL, HTONE_ACTIVATION_GELU_TANH, &out));
  assert_int_equal(bytes_in_use() - before, kResultBytes);
  assert_ok(htone_tensor_release(out));
  assert_int_equal(bytes_in_use(), before);
  assert_ok(htone_gelu(x, HTONE_GELU_TANH, &made));
  assert_ok(htone_linear(made, w, NULL, &out));
  assert_ok(htone_tensor_release(made));
  assert_int_equal(bytes_in_use() - before, kResultBytes + kActivatedBytes);
  assert_ok(htone_tensor_release(out));
}

static void an_argument_that_was_written_since_is_refused_in_backward(void** state) {
  (void)state;
  htone_tensor *x = make_noise(HTONE_F32, 1, 2, 2, 3), *w = leaf(make_noise(HTONE_F32, 2, 2, 2, 3)), *out = NULL;
  assert_ok(htone_activation_linear(x, w, NULL, HTONE_ACTIVATION_SILU, &out));
  htone_tensor* sum = sum_of(keep_tensor(out));
  assert_ok(htone_tensor_fill(x, 1.0));
  assert_fails(htone_tensor_backward(sum, NULL, 0), HTONE_ERROR_STATE, "backward of activation_linear");
}

static void wrong_operands_are_refused_by_name(void** state) {
  (void)state;
  htone_tensor *out = NULL, *a = make_ramp(HTONE_F32, 2, 2, 2), *low = make_ramp(HTONE_BF16, 2, 2, 2);
  assert_fails(htone_activation_linear(a, a, NULL, (htone_activation)0, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "activation=0");
  assert_fails(htone_activation_linear(a, a, NULL, (htone_activation)5, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "activation=5");
  assert_fails(htone_activation_linear(a, make_ramp(HTONE_F32, 2, 2, 3), NULL, HTONE_ACTIVATION_RELU, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "weight.shape[1]=3");
  assert_fails(htone_activation_linear(a, a, make_ramp(HTONE_F32, 1, 3), HTONE_ACTIVATION_RELU, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "bias");
  assert_fails(htone_activation_linear(a, low, NULL, HTONE_ACTIVATION_RELU, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "weight");
  assert_fails(htone_activation_linear(make_ramp(HTONE_I32, 2, 2, 2), a, NULL, HTONE_ACTIVATION_RELU, &out),
               HTONE_ERROR_DTYPE_MISMATCH, "input");
  assert_fails(htone_activation_linear(make_scalar(HTONE_F32, 1), a, NULL, HTONE_ACTIVATION_RELU, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_and_gradients_have_the_bits_of_two_operations),
      cmocka_unit_test(they_have_these_bits_under_autocast),
      cmocka_unit_test(the_argument_alone_is_kept_for_backward),
      cmocka_unit_test(an_argument_that_was_written_since_is_refused_in_backward),
      cmocka_unit_test(wrong_operands_are_refused_by_name),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
