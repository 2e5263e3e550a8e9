/* Initialisations of weights: the formulas, compared with plain fills of one seed; truncated and orthogonal numbers by
 * their properties. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

static htone_tensor* make_weight(htone_dtype dtype, int ndim, const int64_t* shape) {
  htone_tensor* out = NULL;
  assert_ok(htone_tensor_create_full(test_device(), dtype, ndim, shape, 7, &out));
  return keep_tensor(out);
}

/* The next fill of the test's context is the first of seed 5. */
static void begin_again(void) { assert_ok(htone_context_set_seed(test_context(), 5)); }

static void assert_uniform(htone_tensor* weight, int ndim, const int64_t* shape, double bound) {
  htone_tensor* plain = make_weight(dtype_of(weight), ndim, shape);
  begin_again();
  assert_ok(htone_init_uniform(plain, -bound, bound));
  assert_tensors_near(weight, plain, 0);
}

static void assert_normal(htone_tensor* weight, int ndim, const int64_t* shape, double std) {
  htone_tensor* plain = make_weight(dtype_of(weight), ndim, shape);
  begin_again();
  assert_ok(htone_init_normal(plain, 0, std));
  assert_tensors_near(weight, plain, 0);
}

static double gain_of(htone_nonlinearity nonlinearity, double slope) {
  double gain = NAN;
  assert_ok(htone_init_gain(nonlinearity, slope, &gain));
  return gain;
}

static void gains_are_those_of_pytorch(void** state) {
  (void)state;
  assert_near(gain_of(HTONE_NONLINEARITY_LINEAR, 3), 1, 0);
  assert_near(gain_of(HTONE_NONLINEARITY_SIGMOID, 3), 1, 0);
  assert_near(gain_of(HTONE_NONLINEARITY_TANH, 3), 5.0 / 3, 0);
  assert_near(gain_of(HTONE_NONLINEARITY_RELU, 3), sqrt(2), 0);
  assert_near(gain_of(HTONE_NONLINEARITY_LEAKY_RELU, 0.2), 1.3867504905630728, 1e-15);
  assert_near(gain_of(HTONE_NONLINEARITY_SELU, 3), 0.75, 0);
}

/* A weight [6, 4, 3, 5] has 60 connections in and 90 out. */
static const int64_t kShape[] = {6, 4, 3, 5};

static void kaiming_keeps_the_variance_of_either_side(void** state) {
  (void)state;
  htone_tensor* weight = make_weight(HTONE_F32, 4, kShape);
  begin_again();
  assert_ok(htone_init_kaiming_uniform(weight, HTONE_FAN_IN, HTONE_NONLINEARITY_RELU, 0));
  assert_uniform(weight, 4, kShape, sqrt(3.0) * (sqrt(2) / sqrt(60)));
  begin_again();
  assert_ok(htone_init_kaiming_uniform(weight, HTONE_FAN_OUT, HTONE_NONLINEARITY_LINEAR, 0));
  assert_uniform(weight, 4, kShape, sqrt(3.0) * (1 / sqrt(90)));
  begin_again();
  assert_ok(htone_init_kaiming_normal(weight, HTONE_FAN_OUT, HTONE_NONLINEARITY_LEAKY_RELU, 0.5));
  assert_normal(weight, 4, kShape, sqrt(2.0 / 1.25) / sqrt(90));
}

static void xavier_keeps_the_mean_of_both_sides(void** state) {
  (void)state;
  htone_tensor* weight = make_weight(HTONE_BF16, 4, kShape);
  begin_again();
  assert_ok(htone_init_xavier_uniform(weight, 2));
  assert_uniform(weight, 4, kShape, sqrt(3.0) * (2 * sqrt(2.0 / 150)));
  begin_again();
  assert_ok(htone_init_xavier_normal(weight, 0.5));
  assert_normal(weight, 4, kShape, 0.5 * sqrt(2.0 / 150));
  assert_ok(htone_init_xavier_uniform(weight, 0));
  assert_near(item_of(sum_of(cast_of(weight, HTONE_F32))), 0, 0);
}

static void weights_need_two_dimensions_and_may_be_empty(void** state) {
  (void)state;
  static const int64_t line[] = {4}, empty[] = {0, 3};
  htone_tensor *vector = make_weight(HTONE_F32, 1, line), *none = make_weight(HTONE_F32, 2, empty);
  htone_tensor* integers = make_weight(HTONE_I32, 2, kShape);
  assert_fails(htone_init_kaiming_uniform(vector, HTONE_FAN_IN, HTONE_NONLINEARITY_RELU, 0), HTONE_ERROR_SHAPE_MISMATCH,
               "tensor [4]");
  assert_fails(htone_init_xavier_normal(vector, 1), HTONE_ERROR_SHAPE_MISMATCH, "tensor [4]");
  assert_fails(htone_init_orthogonal(vector, 1), HTONE_ERROR_SHAPE_MISMATCH, "tensor [4]");
  assert_fails(htone_init_orthogonal(integers, 1), HTONE_ERROR_DTYPE_MISMATCH, "tensor");
  assert_fails(htone_init_truncated_normal(integers, 0, 1, -1, 1), HTONE_ERROR_DTYPE_MISMATCH, "tensor");
  assert_ok(htone_init_kaiming_normal(none, HTONE_FAN_IN, HTONE_NONLINEARITY_RELU, 0));
  assert_ok(htone_init_xavier_uniform(none, 1));
  assert_ok(htone_init_orthogonal(none, 1));
  assert_ok(htone_init_truncated_normal(none, 0, 1, -1, 1));
  assert_values(vector, 0, 7, 7, 7, 7);
}

typedef struct Moments {
  double mean, variance, least, largest;
} Moments;

static Moments moments_of(htone_tensor* tensor) {
  double* values = values_of(tensor);
  const int64_t count = numel_of(tensor);
  Moments moments = {0, 0, DBL_MAX, -DBL_MAX};
  for (int64_t i = 0; i < count; ++i) {
    moments.mean += values[i] / (double)count;
    moments.least = fmin(moments.least, values[i]);
    moments.largest = fmax(moments.largest, values[i]);
  }
  for (int64_t i = 0; i < count; ++i) moments.variance += pow(values[i] - moments.mean, 2) / (double)count;
  free(values);
  return moments;
}

static const int64_t kMany[] = {200000};

static Moments truncated(double mean, double std, double low, double high) {
  htone_tensor* tensor = make_weight(HTONE_F64, 1, kMany);
  assert_ok(htone_init_truncated_normal(tensor, mean, std, low, high));
  return moments_of(tensor);
}

/* A standard normal number within (-2, 2) has the variance 1 - 4 density(2) / share. */
static void truncated_numbers_stay_in_their_interval_and_have_its_moments(void** state) {
  (void)state;
  const double share = erf(sqrt(2)), density = exp(-2) / sqrt(2 * acos(-1));
  const Moments moments = truncated(0, 1, -2, 2);
  assert_near(moments.mean, 0, 0.01);
  assert_near(moments.variance, 1 - 4 * density / share, 0.01);
  assert_true(moments.least >= -2 && moments.largest <= 2 && moments.largest > 1.99 && moments.least < -1.99);
  const Moments moved = truncated(10, 0.5, 9, 11);
  assert_near(moved.mean, 10, 0.005);
  assert_near(moved.variance, 0.25 * (1 - 4 * density / share), 0.0025);
}

/* Beyond a bound t far from the mean a normal number is t plus an exponential one of mean 1/t, nearly. */
static void truncated_numbers_far_from_the_mean_keep_their_digits(void** state) {
  (void)state;
  const Moments above = truncated(0, 1, 30, 40), below = truncated(0, 1, -40, -30);
  assert_true(above.least >= 30 && below.largest <= -30);
  assert_near(above.mean, 30 + 1.0 / 30, 0.002);
  assert_near(below.mean, -30 - 1.0 / 30, 0.002);
  const Moments beyond = truncated(0, 1, 100, 200); /* shares that are 0 in double */
  assert_true(beyond.least >= 100 && beyond.largest <= 200);
}

static void truncated_numbers_without_spread_are_the_mean_in_its_bounds(void** state) {
  (void)state;
  static const int64_t two[] = {2};
  htone_tensor* tensor = make_weight(HTONE_F16, 1, two);
  assert_ok(htone_init_truncated_normal(tensor, 0.5, 0, -2, 2));
  assert_values(tensor, 0, 0.5, 0.5);
  assert_ok(htone_init_truncated_normal(tensor, 9, 0, -2, 2));
  assert_values(tensor, 0, 2, 2);
  assert_ok(htone_init_truncated_normal(tensor, 0, 1, 2, 2));
  assert_values(tensor, 0, 2, 2);
}

/* Asserts that the shorter side of a matrix has orthogonal vectors of length `gain`. */
static void assert_orthogonal(htone_tensor* weight, int64_t rows, int64_t columns, double gain, double tolerance) {
  double* values = values_of(weight);
  const int64_t count = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
  const int64_t step = rows < columns ? 1 : columns, next = rows < columns ? columns : 1;
  for (int64_t a = 0; a < count; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (int64_t i = 0; i < length; ++i) dot += values[a * next + i * step] * values[b * next + i * step];
      assert_near(dot, a == b ? gain * gain : 0, tolerance);
    }
  }
  free(values);
}

static void orthogonal_weights_have_orthogonal_rows_or_columns(void** state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {5, 3}, {3, 5}, {64, 64}, {65, 200}, {150, 130}};
  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    htone_tensor* weight = make_weight(HTONE_F64, 2, shapes[i]);
    assert_ok(htone_init_orthogonal(weight, 2));
    assert_orthogonal(weight, shapes[i][0], shapes[i][1], 2, 1e-13);
  }
  static const int64_t wide[] = {100, 300};
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_F16, HTONE_BF16};
  static const double tolerances[] = {2e-6, 2e-3, 2e-2};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* weight = make_weight(dtypes[i], 2, wide);
    assert_ok(htone_init_orthogonal(weight, 1));
    assert_orthogonal(weight, 100, 300, 1, tolerances[i]);
  }
  htone_tensor* kernel = make_weight(HTONE_F32, 4, kShape);
  assert_ok(htone_init_orthogonal(kernel, 1));
  assert_orthogonal(kernel, 6, 60, 1, 1e-6);
}

/* Sequence 1205178 of seed 0 begins with a pair of normal numbers that are 0. */
static void a_vector_of_zeros_does_not_spoil_an_orthogonal_weight(void** state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};
  htone_generator_state zeros = {.struct_size = sizeof zeros, .seed = 0, .sequence = 1205178};
  htone_tensor* normal = make_weight(HTONE_F64, 2, shapes[1]);
  assert_ok(htone_context_set_generator_state(test_context(), &zeros));
  assert_ok(htone_init_normal(normal, 0, 1));
  assert_values(normal, 0, 0, 0);
  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    htone_tensor* weight = make_weight(HTONE_F64, 2, shapes[i]);
    assert_ok(htone_context_set_generator_state(test_context(), &zeros));
    assert_ok(htone_init_orthogonal(weight, 1));
    assert_orthogonal(weight, shapes[i][0], shapes[i][1], 1, 1e-15);
  }
}

/* Over all rotations of three dimensions, every entry has the mean 0 and the variance 1/3. */
static void orthogonal_weights_prefer_no_direction(void** state) {
  (void)state;
  enum { kTimes = 3000 };
  static const int64_t shape[] = {3, 3};
  double sums[9] = {0}, squares[9] = {0};
  htone_tensor* weight = make_weight(HTONE_F32, 2, shape);
  begin_again();
  for (int time = 0; time < kTimes; ++time) {
    float values[9];
    assert_ok(htone_init_orthogonal(weight, 1));
    assert_ok(htone_tensor_read(weight, HTONE_F32, values, sizeof values));
    for (int i = 0; i < 9; ++i) {
      sums[i] += values[i] / kTimes;
      squares[i] += values[i] * values[i] / kTimes;
    }
  }
  for (int i = 0; i < 9; ++i) {
    assert_near(sums[i], 0, 0.05); /* five standard errors */
    assert_near(squares[i], 1.0 / 3, 0.03);
  }
}

static htone_tensor* drawn_with(int32_t threads, htone_status (*draw)(htone_tensor*)) {
  static const int64_t shape[] = {100, 90};
  htone_tensor* out = NULL;
  assert_ok(htone_tensor_create_full(make_device(make_context(threads, 3)), HTONE_F32, 2, shape, 0, &out));
  keep_tensor(out);
  assert_ok(draw(out));
  return out;
}
static htone_status draw_truncated(htone_tensor* tensor) { return htone_init_truncated_normal(tensor, 0, 1, -2, 2); }
static htone_status draw_orthogonal(htone_tensor* tensor) { return htone_init_orthogonal(tensor, 1); }

static void draws_depend_on_the_seed_and_not_on_threads(void** state) {
  (void)state;
  assert_tensors_near(drawn_with(1, draw_truncated), drawn_with(3, draw_truncated), 0);
  assert_tensors_near(drawn_with(1, draw_orthogonal), drawn_with(3, draw_orthogonal), 0);
}

static void an_orthogonal_weight_ignores_autocast_and_records_nothing(void** state) {
  (void)state;
  static const int64_t shape[] = {70, 80};
  htone_autocast_policy* bf16 = NULL;
  htone_scope* scope = NULL;
  htone_tensor* weight = make_weight(HTONE_F64, 2, shape);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &bf16));
  keep_policy(bf16);
  assert_ok(htone_autocast_begin(bf16, &scope));
  assert_ok(htone_init_orthogonal(leaf(weight), 1));
  assert_ok(htone_scope_end(scope));
  assert_orthogonal(weight, 70, 80, 1, 1e-13);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gains_are_those_of_pytorch),
      cmocka_unit_test(kaiming_keeps_the_variance_of_either_side),
      cmocka_unit_test(xavier_keeps_the_mean_of_both_sides),
      cmocka_unit_test(weights_need_two_dimensions_and_may_be_empty),
      cmocka_unit_test(truncated_numbers_stay_in_their_interval_and_have_its_moments),
      cmocka_unit_test(truncated_numbers_far_from_the_mean_keep_their_digits),
      cmocka_unit_test(truncated_numbers_without_spread_are_the_mean_in_its_bounds),
      cmocka_unit_test(orthogonal_weights_have_orthogonal_rows_or_columns),
      cmocka_unit_test(a_vector_of_zeros_does_not_spoil_an_orthogonal_weight),
      cmocka_unit_test(orthogonal_weights_prefer_no_direction),
      cmocka_unit_test(draws_depend_on_the_seed_and_not_on_threads),
      cmocka_unit_test(an_orthogonal_weight_ignores_autocast_and_records_nothing),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
