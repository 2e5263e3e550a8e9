/* Every pooling against central differences: windows that overlap, skip, and reach into the padding. */
#include "gradcheck.h"

static htone_pool_options window(int64_t stride, int64_t padding, int32_t counts_padding) {
  htone_pool_options options;
  assert_ok(htone_pool_options_init(&options));
  options.stride_w = stride;
  options.padding_w = padding;
  options.count_include_pad = counts_padding;
  return options;
}

static htone_status max_pool1d(htone_tensor* const* in, htone_tensor** out) {
  const htone_pool_options options = window(2, 1, 1);
  return htone_max_pool1d(in[0], 3, &options, out);
}
static htone_status max_pool2d(htone_tensor* const* in, htone_tensor** out) {
  return htone_max_pool2d(in[0], 2, 2, NULL, out);
}
static htone_status max_pool2d_dilated(htone_tensor* const* in, htone_tensor** out) {
  htone_pool_options options = window(1, 1, 1);
  options.stride_h = 2;
  options.dilation_w = 2;
  return htone_max_pool2d(in[0], 1, 2, &options, out);
}
static htone_status avg_pool1d(htone_tensor* const* in, htone_tensor** out) {
  const htone_pool_options options = window(1, 1, 0);
  return htone_avg_pool1d(in[0], 3, &options, out);
}
static htone_status avg_pool2d(htone_tensor* const* in, htone_tensor** out) {
  return htone_avg_pool2d(in[0], 2, 3, NULL, out);
}
static htone_status avg_pool2d_padded(htone_tensor* const* in, htone_tensor** out) {
  htone_pool_options options = window(2, 1, 1);
  options.stride_h = 1;
  options.padding_h = 1;
  return htone_avg_pool2d(in[0], 3, 2, &options, out);
}
static htone_status adaptive_avg_pool1d(htone_tensor* const* in, htone_tensor** out) {
  return htone_adaptive_avg_pool1d(in[0], 3, out);
}
static htone_status adaptive_avg_pool2d(htone_tensor* const* in, htone_tensor** out) {
  return htone_adaptive_avg_pool2d(in[0], 2, 7, out);
}

static htone_status max_pool2d_cut(htone_tensor* const* in, htone_tensor** out) {
  htone_pool_options options = window(2, 1, 1);
  options.ceil_mode = 1;
  options.stride_h = 2;
  return htone_max_pool2d(in[0], 3, 2, &options, out);
}
static htone_status avg_pool2d_cut(htone_tensor* const* in, htone_tensor** out) {
  htone_pool_options options = window(2, 1, 1);
  options.ceil_mode = 1;
  options.stride_h = 2;
  return htone_avg_pool2d(in[0], 3, 2, &options, out);
}
static htone_status avg_pool1d_cut(htone_tensor* const* in, htone_tensor** out) {
  htone_pool_options options = window(3, 1, 0);
  options.ceil_mode = 1;
  return htone_avg_pool1d(in[0], 3, &options, out);
}
static htone_status adaptive_max_pool1d(htone_tensor* const* in, htone_tensor** out) {
  return htone_adaptive_max_pool1d(in[0], 3, out);
}
static htone_status adaptive_max_pool2d(htone_tensor* const* in, htone_tensor** out) {
  return htone_adaptive_max_pool2d(in[0], 2, 7, out);
}

static const GradCase kCases[] = {
    {"gradient_of_max_pool1d", max_pool1d, 1, {{3, {2, 3, 8}}}},
    {"gradient_of_max_pool2d", max_pool2d, 1, {{4, {2, 3, 4, 5}}}},
    {"gradient_of_max_pool2d_dilated", max_pool2d_dilated, 1, {{4, {2, 2, 3, 5}}}},
    {"gradient_of_avg_pool1d_without_padding_in_the_count", avg_pool1d, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_avg_pool2d", avg_pool2d, 1, {{4, {2, 2, 4, 7}}}},
    {"gradient_of_avg_pool2d_padded", avg_pool2d_padded, 1, {{4, {1, 2, 4, 5}}}},
    {"gradient_of_adaptive_avg_pool1d", adaptive_avg_pool1d, 1, {{3, {2, 2, 7}}}},
    {"gradient_of_adaptive_avg_pool2d", adaptive_avg_pool2d, 1, {{4, {1, 2, 5, 4}}}},
    {"gradient_of_max_pool2d_whose_last_window_is_cut", max_pool2d_cut, 1, {{4, {1, 2, 6, 5}}}},
    {"gradient_of_avg_pool2d_whose_last_window_is_cut", avg_pool2d_cut, 1, {{4, {1, 2, 6, 5}}}},
    {"gradient_of_avg_pool1d_whose_last_window_is_cut", avg_pool1d_cut, 1, {{3, {2, 3, 6}}}},
    {"gradient_of_adaptive_max_pool1d", adaptive_max_pool1d, 1, {{3, {2, 2, 7}}}},
    {"gradient_of_adaptive_max_pool2d", adaptive_max_pool2d, 1, {{4, {1, 2, 5, 4}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
