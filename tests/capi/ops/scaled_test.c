/* Scaled tensors: values by hand, the parts that a program reads, saving and loading, and what they refuse. */
#include <halftone/safetensors.h>
#include <halftone/scaled.h>
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

static htone_scaled_options options_of(htone_scale_layout layout, htone_format format) {
  htone_scaled_options options = HTONE_SCALED_OPTIONS_INIT;
  options.layout = layout;
  options.format = format;
  return options;
}

static htone_scaled* scaled_with(htone_tensor* x, const htone_scaled_options* options) {
  htone_scaled* out = NULL;
  assert_ok(htone_scaled_create(x, options, NULL, NULL, &out));
  return keep_scaled(out);
}

static htone_scaled* scaled_of(htone_tensor* x, htone_scale_layout layout, htone_format format) {
  const htone_scaled_options options = options_of(layout, format);
  return scaled_with(x, &options);
}

typedef htone_status (*PartFn)(htone_scaled*, htone_tensor**);

static htone_tensor* part_of(PartFn part, htone_scaled* scaled) {
  htone_tensor* out = NULL;
  assert_ok(part(scaled, &out));
  return keep_tensor(out);
}

static htone_tensor* codes_of(htone_scaled* scaled) { return part_of(htone_scaled_codes, scaled); }
static htone_tensor* scales_of(htone_scaled* scaled) { return part_of(htone_scaled_scales, scaled); }

static htone_tensor* values_in(htone_scaled* scaled, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_scaled_dequantize(scaled, dtype, &out));
  return keep_tensor(out);
}

static void a_tensor_and_a_row_divide_by_their_largest_magnitude(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){-896, 2, 448, 0}, 2, 2, 2);
  htone_scaled* scaled = scaled_with(x, NULL);
  assert_scalar(scales_of(scaled));
  assert_near(item_of(scales_of(scaled)), 2, 0);
  assert_int_equal(dtype_of(codes_of(scaled)), HTONE_F8E4M3);
  assert_values(cast_of(codes_of(scaled), HTONE_F32), 0, -448, 1, 224, 0);
  scaled = scaled_of(x, HTONE_SCALE_LAYOUT_ROW, HTONE_FORMAT_E4M3);
  assert_shape(scales_of(scaled), 2, 1);
  assert_values(scales_of(scaled), 0, 2, 1);
  assert_values(cast_of(codes_of(scaled), HTONE_F32), 0, -448, 1, 448, 0);
  scaled = scaled_of(x, HTONE_SCALE_LAYOUT_ROW, HTONE_FORMAT_E5M2);
  assert_int_equal(dtype_of(codes_of(scaled)), HTONE_F8E5M2);
  assert_values(scales_of(scaled), 0, 896.0 / 57344, 448.0 / 57344);
}

static void scales_of_mx_saturate_or_are_rounded_up(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){500, 3}, 2, 1, 2);
  htone_scaled_options options = options_of(HTONE_SCALE_LAYOUT_MX_1X32, HTONE_FORMAT_E4M3);
  htone_scaled* scaled = scaled_with(x, &options);
  assert_int_equal(dtype_of(scales_of(scaled)), HTONE_U8);
  assert_values(scales_of(scaled), 0, 127);
  assert_values(values_in(scaled, HTONE_F32), 0, 448, 3);
  options.scale_rounds_up = 1;
  scaled = scaled_with(x, &options);
  assert_values(scales_of(scaled), 0, 128);
  assert_values(values_in(scaled, HTONE_F32), 0, 512, 3);
}

static void nvfp4_has_two_scales_and_two_codes_in_a_byte(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_BF16, (const double[]){6, -3, 0.5}, 3, 1, 1, 3);
  htone_scaled* scaled = scaled_of(x, HTONE_SCALE_LAYOUT_NV_1X16, HTONE_FORMAT_E2M1);
  assert_near(item_of(part_of(htone_scaled_tensor_scale, scaled)), (double)(float)(6.0 / 2688), 0);
  assert_int_equal(dtype_of(scales_of(scaled)), HTONE_F8E4M3);
  assert_values(cast_of(scales_of(scaled), HTONE_F32), 0, 448);
  assert_int_equal(dtype_of(codes_of(scaled)), HTONE_U8);
  assert_shape(codes_of(scaled), 1, 1, 2);
  assert_values(codes_of(scaled), 0, 7 + 16 * (8 + 5), 1);
  assert_shape(values_in(scaled, HTONE_BF16), 1, 1, 3);
  assert_values(values_in(scaled, HTONE_BF16), 0, 6, -3, 0.5);
  int64_t shape[3] = {0};
  int32_t ndim = 0;
  assert_ok(htone_scaled_shape(scaled, shape, 3, &ndim));
  assert_int_equal(ndim, 3);
  assert_int_equal(shape[2], 3);
}

static void blocks_lie_along_the_last_dimension_of_a_view(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){448, 1, 0, 100}, 2, 2, 2);
  htone_scaled* scaled = scaled_of(transpose_of(x, 0, 1), HTONE_SCALE_LAYOUT_BLOCK_1X128, HTONE_FORMAT_E4M3);
  assert_values(scales_of(scaled), 0, 1, 0.25);
  assert_values(values_in(scaled, HTONE_F32), 0, 448, 0, 1, 96);
  htone_scale_layout layout = 0;
  htone_format format = 0;
  assert_ok(htone_scaled_layout(scaled, &layout));
  assert_ok(htone_scaled_format(scaled, &format));
  assert_int_equal(layout, HTONE_SCALE_LAYOUT_BLOCK_1X128);
  assert_int_equal(format, HTONE_FORMAT_E4M3);
}

static void a_block_that_is_not_finite_reads_nan(void** state) {
  (void)state;
  double x[4] = {1, INFINITY, 2, 3};
  htone_scaled* scaled = scaled_of(make_tensor(HTONE_F32, x, 2, 2, 2), HTONE_SCALE_LAYOUT_MX_1X32, HTONE_FORMAT_E2M1);
  assert_values(scales_of(scaled), 0, 255, 126);
  assert_values(values_in(scaled, HTONE_F32), 0, NAN, NAN, 2, 3);
}

static void a_given_scale_is_used_and_the_largest_magnitude_noted(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){3, -896, 1}, 1, 3);
  htone_tensor *amax = make_scalar(HTONE_F32, 0), *one = make_scalar(HTONE_F32, 1);
  htone_scaled* scaled = NULL;
  assert_ok(htone_scaled_create(x, NULL, one, amax, &scaled));
  keep_scaled(scaled);
  assert_values(values_in(scaled, HTONE_F32), 0, 3, -448, 1);
  assert_near(item_of(amax), 896, 0);
  assert_false(share_storage(one, scales_of(scaled)));
}

static void seeds_round_in_their_own_way(void** state) {
  (void)state;
  htone_tensor* x = make_noise(HTONE_F32, 1, 2, 16, 64);
  htone_scaled_options options = options_of(HTONE_SCALE_LAYOUT_ROW, HTONE_FORMAT_E2M1);
  options.stochastic = 1;
  options.seed = 3;
  htone_tensor* first = codes_of(scaled_with(x, &options));
  assert_tensors_near(codes_of(scaled_with(x, &options)), first, 0);
  options.sequence = 1;
  double *a = values_of(first), *b = values_of(codes_of(scaled_with(x, &options)));
  int differ = 0;
  for (int i = 0; i < 16 * 32; ++i) differ += a[i] != b[i];
  free(a);
  free(b);
  assert_true(differ > 0);
}

static void a_safetensors_file_keeps_every_part(void** state) {
  (void)state;
  static char file[10000];
  size_t length = 0;
  htone_state_dict *saved = NULL, *loaded = NULL;
  assert_ok(htone_state_dict_create(&saved));
  keep_state_dict(saved);
  htone_scaled* weight =
      scaled_of(make_noise(HTONE_F32, 1, 3, 2, 3, 37), HTONE_SCALE_LAYOUT_NV_16X16, HTONE_FORMAT_E2M1);
  assert_ok(htone_scaled_save(weight, saved, "weight"));
  assert_ok(
      htone_scaled_save(scaled_with(make_tensor(HTONE_F32, (const double[]){7, -1, 3.5}, 1, 3), NULL), saved, "bias"));
  assert_ok(htone_safetensors_save_memory(saved, file, sizeof file, &length));
  assert_ok(htone_safetensors_load_memory(test_device(), file, length, &loaded));
  keep_state_dict(loaded);
  char text[64];
  assert_ok(htone_state_dict_text(loaded, "weight.layout", text, sizeof text, &length));
  assert_string_equal(text, "nv_16x16 e2m1 2x3x37");
  htone_scaled *again = NULL, *bias = NULL;
  assert_ok(htone_scaled_load(loaded, "weight", &again));
  keep_scaled(again);
  assert_tensors_near(values_in(again, HTONE_F32), values_in(weight, HTONE_F32), 0);
  assert_shape(values_in(again, HTONE_F32), 2, 3, 37);
  assert_ok(htone_scaled_load(loaded, "bias", &bias));
  assert_values(values_in(keep_scaled(bias), HTONE_F32), 0, 7, -1, 3.5);
}

static htone_state_dict* saved_row(const char* layout) {
  htone_state_dict* out = NULL;
  assert_ok(htone_state_dict_create(&out));
  keep_state_dict(out);
  assert_ok(
      htone_scaled_save(scaled_of(make_ramp(HTONE_F32, 1, 3), HTONE_SCALE_LAYOUT_ROW, HTONE_FORMAT_E4M3), out, "x"));
  assert_ok(htone_state_dict_set_text(out, "x.layout", layout));
  return out;
}

#define assert_load_fails(layout, code, part)                                                \
  do {                                                                                       \
    htone_scaled* out = NULL;                                                                \
    assert_fails(htone_scaled_load(saved_row(layout), "x", &out), HTONE_ERROR_##code, part); \
    assert_null(out);                                                                        \
  } while (0)

static void a_state_that_does_not_fit_is_refused(void** state) {
  (void)state;
  assert_load_fails("row e4m3", FORMAT, "describes no scaled tensor");
  assert_load_fails("row e4m3 3x", FORMAT, "describes no scaled tensor");
  assert_load_fails("row e4m3 -3", FORMAT, "describes no scaled tensor");
  assert_load_fails("row e4m3 1x1x1x1x1x1x1x1x3", FORMAT, "describes no scaled tensor");
  assert_load_fails("row f16 3", FORMAT, "describes no scaled tensor");
  assert_load_fails("lines e4m3 3", FORMAT, "describes no scaled tensor");
  assert_load_fails("row e4m3 9223372036854775807x4", INVALID_ARGUMENT, "name");
  assert_load_fails("row e4m3 4", SHAPE_MISMATCH, "x.codes is [3], expected [4]");
  assert_load_fails("row e5m2 3", DTYPE_MISMATCH, "x.codes is f8e4m3, expected f8e5m2");
  assert_load_fails("tensor e4m3 3", SHAPE_MISMATCH, "x.scales is [1, 1], expected []");
  assert_load_fails("mx_1x32 e4m3 3", DTYPE_MISMATCH, "x.scales is f32, expected u8");
  assert_load_fails("nv_1x16 e4m3 3", INVALID_ARGUMENT, "NV layouts");
}

#define assert_create_fails(x, options, scale, amax, code, part)                                \
  do {                                                                                          \
    htone_scaled* out = NULL;                                                                   \
    assert_fails(htone_scaled_create(x, options, scale, amax, &out), HTONE_ERROR_##code, part); \
    assert_null(out);                                                                           \
  } while (0)

static void what_has_no_codes_is_refused(void** state) {
  (void)state;
  const htone_scaled_options row = options_of(HTONE_SCALE_LAYOUT_ROW, HTONE_FORMAT_E4M3);
  const htone_scaled_options nv = options_of(HTONE_SCALE_LAYOUT_NV_1X16, HTONE_FORMAT_E4M3);
  htone_tensor *x = make_ramp(HTONE_F32, 1, 3), *one = make_scalar(HTONE_F32, 1);
  assert_create_fails(make_ramp(HTONE_F64, 1, 3), NULL, NULL, NULL, DTYPE_MISMATCH, "x is f64");
  assert_create_fails(one, NULL, NULL, NULL, SHAPE_MISMATCH, "x []");
  assert_create_fails(x, &nv, NULL, NULL, INVALID_ARGUMENT, "expected E2M1");
  assert_create_fails(x, &row, one, NULL, INVALID_ARGUMENT, "scale is given");
  assert_create_fails(x, &row, NULL, one, INVALID_ARGUMENT, "amax is given");
  assert_create_fails(x, NULL, x, NULL, SHAPE_MISMATCH, "scale [3]");
  assert_create_fails(x, NULL, one, one, INVALID_ARGUMENT, "amax is the memory of scale");
  assert_refuses(htone_scaled_tensor_scale(scaled_with(x, &row), &out), INVALID_ARGUMENT, "no scale of the tensor");
  assert_refuses(htone_scaled_dequantize(scaled_with(x, &row), HTONE_F8E4M3, &out), INVALID_ARGUMENT, "dtype=f8e4m3");
  htone_state_dict* taken = saved_row("row e4m3 3");
  assert_fails(htone_scaled_save(scaled_with(x, &row), taken, "x"), HTONE_ERROR_INVALID_ARGUMENT, "x.codes");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tensor_and_a_row_divide_by_their_largest_magnitude),
      cmocka_unit_test(scales_of_mx_saturate_or_are_rounded_up),
      cmocka_unit_test(nvfp4_has_two_scales_and_two_codes_in_a_byte),
      cmocka_unit_test(blocks_lie_along_the_last_dimension_of_a_view),
      cmocka_unit_test(a_block_that_is_not_finite_reads_nan),
      cmocka_unit_test(a_given_scale_is_used_and_the_largest_magnitude_noted),
      cmocka_unit_test(seeds_round_in_their_own_way),
      cmocka_unit_test(a_safetensors_file_keeps_every_part),
      cmocka_unit_test(a_state_that_does_not_fit_is_refused),
      cmocka_unit_test(what_has_no_codes_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
