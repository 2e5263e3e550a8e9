/* Every convolution against central differences: weights and biases too, groups, uneven windows. */
#include "gradcheck.h"

static htone_conv_options window(int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  htone_conv_options options;
  assert_ok(htone_conv_options_init(&options));
  options.stride_w = stride;
  options.padding_w = padding;
  options.dilation_w = dilation;
  options.groups = groups;
  return options;
}

/* Height takes another window than width. */
static htone_conv_options image_window(int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  htone_conv_options options = window(stride, padding, dilation, groups);
  options.stride_h = 3 - stride;
  options.padding_h = 1;
  options.dilation_h = 1;
  return options;
}

static htone_status conv1d(htone_tensor* const* in, htone_tensor** out) {
  const htone_conv_options options = window(2, 1, 1, 1);
  return htone_conv1d(in[0], in[1], in[2], &options, out);
}
static htone_status conv1d_dilated(htone_tensor* const* in, htone_tensor** out) {
  const htone_conv_options options = window(1, 2, 2, 2);
  return htone_conv1d(in[0], in[1], in[2], &options, out);
}
static htone_status conv2d_plain(htone_tensor* const* in, htone_tensor** out) {
  return htone_conv2d(in[0], in[1], NULL, NULL, out);
}
static htone_status conv2d(htone_tensor* const* in, htone_tensor** out) {
  const htone_conv_options options = image_window(2, 1, 1, 1);
  return htone_conv2d(in[0], in[1], in[2], &options, out);
}
static htone_status conv2d_grouped(htone_tensor* const* in, htone_tensor** out) {
  const htone_conv_options options = image_window(1, 2, 2, 2);
  return htone_conv2d(in[0], in[1], in[2], &options, out);
}
static htone_status conv_transpose1d(htone_tensor* const* in, htone_tensor** out) {
  htone_conv_options options = window(3, 1, 1, 1);
  options.output_padding_w = 2;
  return htone_conv_transpose1d(in[0], in[1], in[2], &options, out);
}
static htone_status conv_transpose2d(htone_tensor* const* in, htone_tensor** out) {
  htone_conv_options options = image_window(2, 1, 1, 2);
  options.output_padding_w = 1;
  return htone_conv_transpose2d(in[0], in[1], in[2], &options, out);
}
static htone_status conv_transpose2d_plain(htone_tensor* const* in, htone_tensor** out) {
  return htone_conv_transpose2d(in[0], in[1], NULL, NULL, out);
}

static const GradCase kCases[] = {
    {"gradient_of_conv1d", conv1d, 3, {{3, {2, 3, 7}}, {3, {2, 3, 3}}, {1, {2}}}},
    {"gradient_of_conv1d_dilated_in_groups", conv1d_dilated, 3, {{3, {2, 4, 6}}, {3, {2, 2, 3}}, {1, {2}}}},
    {"gradient_of_conv2d_of_one_pixel", conv2d_plain, 2, {{4, {1, 1, 1, 1}}, {4, {1, 1, 1, 1}}}},
    {"gradient_of_conv2d_without_bias", conv2d_plain, 2, {{4, {2, 2, 4, 5}}, {4, {3, 2, 3, 2}}}},
    {"gradient_of_conv2d_of_single_elements", conv2d_plain, 2, {{4, {2, 3, 3, 2}}, {4, {2, 3, 1, 1}}}},
    {"gradient_of_conv2d", conv2d, 3, {{4, {2, 2, 4, 5}}, {4, {3, 2, 3, 2}}, {1, {3}}}},
    {"gradient_of_conv2d_in_groups", conv2d_grouped, 3, {{4, {2, 2, 3, 5}}, {4, {4, 1, 2, 3}}, {1, {4}}}},
    {"gradient_of_conv_transpose1d", conv_transpose1d, 3, {{3, {2, 3, 3}}, {3, {3, 2, 4}}, {1, {2}}}},
    {"gradient_of_conv_transpose2d", conv_transpose2d, 3, {{4, {2, 4, 3, 2}}, {4, {4, 1, 3, 3}}, {1, {2}}}},
    {"gradient_of_conv_transpose2d_without_bias", conv_transpose2d_plain, 2, {{4, {1, 2, 3, 3}}, {4, {2, 3, 2, 2}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
