/* 8-bit floats with scales: scales, conversions and products by hand, and what they refuse. */
#include <halftone/fp8.h>

#include "test_tensors.h"

static htone_tensor* quantized(htone_tensor* input, htone_tensor* scale, htone_dtype dtype, htone_tensor* amax) {
  htone_tensor* out = NULL;
  assert_ok(htone_quantize(input, scale, dtype, amax, &out));
  return keep_tensor(out);
}

static htone_tensor* abs_max(htone_tensor* input) { return apply1(htone_abs_max, input); }

static htone_tensor* scale_of(htone_tensor* amax, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_quantize_scale(amax, dtype, &out));
  return keep_tensor(out);
}

static void current_scaling_uses_the_whole_range(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){-896, 2, 448, 0}, 1, 4);
  assert_scalar(abs_max(x));
  assert_near(item_of(abs_max(x)), 896, 0);
  htone_tensor* scale = scale_of(abs_max(x), HTONE_F8E4M3);
  assert_scalar(scale);
  assert_near(item_of(scale), 2, 0);
  htone_tensor* stored = quantized(x, scale, HTONE_F8E4M3, NULL);
  assert_int_equal(dtype_of(stored), HTONE_F8E4M3);
  assert_values(cast_of(stored, HTONE_F32), 0, -448, 1, 224, 0);
  assert_near(item_of(scale_of(abs_max(x), HTONE_F8E5M2)), 896.0 / 57344, 0);
}

static void delayed_scaling_notes_the_largest_magnitude(void** state) {
  (void)state;
  htone_tensor* history = make_tensor(HTONE_F32, (const double[]){0, 0, 0}, 1, 3);
  assert_near(item_of(scale_of(history, HTONE_F8E4M3)), 1, 0);
  htone_tensor* x = make_tensor(HTONE_BF16, (const double[]){3, -896, 1}, 1, 3);
  htone_tensor* first = quantized(x, make_scalar(HTONE_F32, 1), HTONE_F8E4M3, slice_of(history, 0, 1, 2, 1));
  assert_values(cast_of(first, HTONE_F32), 0, 3, -448, 1);
  assert_values(history, 0, 0, 896, 0);
  assert_near(item_of(scale_of(history, HTONE_F8E4M3)), 2, 0);
}

static void a_scaled_product_has_the_expected_values(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F8E4M3, (const double[]){1, 2, 3, 4}, 2, 2, 2);
  htone_tensor* b = make_tensor(HTONE_F8E5M2, (const double[]){1, 0.5, -1, 2}, 2, 2, 2);
  htone_tensor *two = make_scalar(HTONE_F32, 2), *half = make_scalar(HTONE_F32, 0.5);
  htone_tensor* bias = make_tensor(HTONE_BF16, (const double[]){10, 20}, 1, 2);
  htone_tensor *out = NULL, *amax = make_scalar(HTONE_F32, 0);
  assert_ok(htone_scaled_matmul(a, b, two, half, HTONE_F32, NULL, NULL, NULL, &out));
  assert_values(keep_tensor(out), 0, -1, 4.5, -1, 9.5);
  assert_ok(htone_scaled_matmul(a, b, two, two, HTONE_BF16, bias, NULL, amax, &out));
  assert_values(keep_tensor(out), 0, 6, 38, 6, 58);
  assert_near(item_of(amax), 58, 0);
  assert_ok(htone_scaled_matmul(a, b, two, two, HTONE_F8E4M3, bias, half, amax, &out));
  assert_values(cast_of(keep_tensor(out), HTONE_F32), 0, 12, 80, 12, 112);
  assert_near(item_of(amax), 58, 0);
}

static void quantize_names_what_it_refuses(void** state) {
  (void)state;
  htone_tensor *x = make_ramp(HTONE_F32, 1, 3), *one = make_scalar(HTONE_F32, 1);
  assert_refuses(htone_quantize(x, x, HTONE_F8E4M3, NULL, &out), SHAPE_MISMATCH, "scale [3]");
  assert_refuses(htone_quantize(x, make_scalar(HTONE_F64, 1), HTONE_F8E4M3, NULL, &out), DTYPE_MISMATCH,
                 "scale is f64");
  assert_refuses(htone_quantize(x, one, HTONE_F8E4M3, x, &out), SHAPE_MISMATCH, "amax [3]");
  assert_refuses(htone_quantize(x, one, HTONE_F8E4M3, one, &out), INVALID_ARGUMENT, "amax is the memory of scale");
  assert_refuses(htone_quantize(make_ramp(HTONE_I32, 1, 3), one, HTONE_F8E4M3, NULL, &out), DTYPE_MISMATCH, "input");
  assert_refuses(htone_quantize_scale(make_scalar(HTONE_F16, 1), HTONE_F8E4M3, &out), DTYPE_MISMATCH, "amax is f16");
  assert_refuses(htone_abs_max(make_ramp(HTONE_F8E4M3, 1, 3), &out), DTYPE_MISMATCH, "input is f8e4m3");
}

static void products_name_what_they_refuse(void** state) {
  (void)state;
  htone_tensor *a = make_ramp(HTONE_F8E4M3, 2, 2, 3), *b = make_ramp(HTONE_F8E4M3, 2, 3, 2);
  htone_tensor *one = make_scalar(HTONE_F32, 1), *wide = make_ramp(HTONE_F32, 2, 3, 2),
               *four = make_ramp(HTONE_F32, 1, 4);
  const htone_dtype f32 = HTONE_F32, f8 = HTONE_F8E4M3;
  assert_refuses(htone_scaled_matmul(wide, b, one, one, f32, NULL, NULL, NULL, &out), DTYPE_MISMATCH, "a is f32");
  assert_refuses(htone_scaled_matmul(a, wide, one, one, f32, NULL, NULL, NULL, &out), DTYPE_MISMATCH, "b is f32");
  assert_refuses(htone_scaled_matmul(a, a, one, one, f32, NULL, NULL, NULL, &out), SHAPE_MISMATCH, "b.shape[0]=2");
  assert_refuses(htone_scaled_matmul(a, b, four, one, f32, NULL, NULL, NULL, &out), SHAPE_MISMATCH, "scale_a [4]");
  assert_refuses(htone_scaled_matmul(a, b, one, a, f32, NULL, NULL, NULL, &out), DTYPE_MISMATCH, "scale_b is f8e4m3");
  assert_refuses(htone_scaled_matmul(a, b, one, one, f32, four, NULL, NULL, &out), SHAPE_MISMATCH, "bias [4]");
  assert_refuses(htone_scaled_matmul(a, b, one, one, f32, make_ramp(HTONE_F64, 1, 2), NULL, NULL, &out), DTYPE_MISMATCH,
                 "bias is f64");
  assert_refuses(htone_scaled_matmul(a, b, one, one, f32, NULL, one, NULL, &out), INVALID_ARGUMENT, "scale_out");
  assert_refuses(htone_scaled_matmul(a, b, one, one, f8, NULL, four, NULL, &out), SHAPE_MISMATCH, "scale_out [4]");
  assert_refuses(htone_scaled_matmul(a, b, one, one, HTONE_F64, NULL, NULL, NULL, &out), INVALID_ARGUMENT, "dtype=f64");
  assert_refuses(htone_scaled_matmul(a, b, one, one, f32, NULL, NULL, four, &out), SHAPE_MISMATCH, "amax [4]");
  assert_refuses(htone_scaled_matmul(a, b, one, one, f32, NULL, NULL, one, &out), INVALID_ARGUMENT,
                 "memory of scale_a");
  assert_refuses(htone_scaled_matmul(make_ramp(f8, 1, 3), b, one, one, f32, NULL, NULL, NULL, &out), SHAPE_MISMATCH,
                 "a [3]");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(current_scaling_uses_the_whole_range),
      cmocka_unit_test(delayed_scaling_notes_the_largest_magnitude),
      cmocka_unit_test(a_scaled_product_has_the_expected_values),
      cmocka_unit_test(quantize_names_what_it_refuses),
      cmocka_unit_test(products_name_what_they_refuse),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
