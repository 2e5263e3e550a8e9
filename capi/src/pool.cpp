#include "halftone/pool.h"

#include "arguments.h"
#include "guard.h"
#include "nn/pool.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_pool_options default_pool_options() {
  htone_pool_options options = {};
  options.struct_size = sizeof options;
  options.count_include_pad = 1;
  options.dilation_h = options.dilation_w = 1;
  return options;
}

// The sizes of a window: {kernel_h, kernel_w}, or {1, kernel_w} over one dimension.
ops::PoolOptions checked_pool_options(const htone_pool_options* options, int64_t kernel_h, int64_t kernel_w, int dims) {
  const htone_pool_options settings = options_or_default(options, default_pool_options());
  const ops::PoolOptions converted = {.kernel = {kernel_h, kernel_w},
                                      .window = {.stride = {settings.stride_h == 0 ? kernel_h : settings.stride_h,
                                                            settings.stride_w == 0 ? kernel_w : settings.stride_w},
                                                 .padding = {settings.padding_h, settings.padding_w},
                                                 .dilation = {settings.dilation_h, settings.dilation_w}},
                                      .counts_padding = settings.count_include_pad != 0,
                                      .last_window = settings.ceil_mode != 0 ? LastWindow::kCut : LastWindow::kWhole};
  ops::require_pool_options(converted, dims);
  return converted;
}

// Averages know no dilation.
ops::PoolOptions checked_average_options(const htone_pool_options* options, int64_t kernel_h, int64_t kernel_w,
                                         int dims) {
  const ops::PoolOptions converted = checked_pool_options(options, kernel_h, kernel_w, dims);
  if (converted.window.dilation[0] != 1 || converted.window.dilation[1] != 1) {
    fail(Code::kInvalidArgument, "options", "options.dilation_h=%lld, dilation_w=%lld, expected 1 for averages",
         static_cast<long long>(converted.window.dilation[0]), static_cast<long long>(converted.window.dilation[1]));
  }
  return converted;
}

void make_adaptive(nn::AdaptivePool1d::PoolTo op, int64_t result_w, htone_module** out) {
  ops::require_result_size(result_w, "result_w");
  wrap(out, make_ref<nn::AdaptivePool1d>(op, result_w));
}

void make_adaptive(nn::AdaptivePool2d::PoolTo op, int64_t result_h, int64_t result_w, htone_module** out) {
  ops::require_result_size(result_h, "result_h");
  ops::require_result_size(result_w, "result_w");
  wrap(out, make_ref<nn::AdaptivePool2d>(op, result_h, result_w));
}

}  // namespace

htone_status htone_pool_options_init(htone_pool_options* options) {
  return guard([&] { require(options, "options") = default_pool_options(); });
}

htone_status htone_max_pool1d(htone_tensor* input, int64_t kernel_w, const htone_pool_options* options,
                              htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::max_pool1d(x, checked_pool_options(options, 1, kernel_w, 1)));
  });
}

htone_status htone_max_pool2d(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                              const htone_pool_options* options, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::max_pool2d(x, checked_pool_options(options, kernel_h, kernel_w, 2)));
  });
}

htone_status htone_avg_pool1d(htone_tensor* input, int64_t kernel_w, const htone_pool_options* options,
                              htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::avg_pool1d(x, checked_average_options(options, 1, kernel_w, 1)));
  });
}

htone_status htone_avg_pool2d(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                              const htone_pool_options* options, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::avg_pool2d(x, checked_average_options(options, kernel_h, kernel_w, 2)));
  });
}

htone_status htone_adaptive_avg_pool1d(htone_tensor* input, int64_t result_w, htone_tensor** out) {
  return guard([&] { wrap(out, ops::adaptive_avg_pool1d(unwrap(input, "input"), result_w)); });
}

htone_status htone_adaptive_avg_pool2d(htone_tensor* input, int64_t result_h, int64_t result_w, htone_tensor** out) {
  return guard([&] { wrap(out, ops::adaptive_avg_pool2d(unwrap(input, "input"), result_h, result_w)); });
}

htone_status htone_adaptive_max_pool1d(htone_tensor* input, int64_t result_w, htone_tensor** out) {
  return guard([&] { wrap(out, ops::adaptive_max_pool1d(unwrap(input, "input"), result_w)); });
}

htone_status htone_adaptive_max_pool2d(htone_tensor* input, int64_t result_h, int64_t result_w, htone_tensor** out) {
  return guard([&] { wrap(out, ops::adaptive_max_pool2d(unwrap(input, "input"), result_h, result_w)); });
}

htone_status htone_module_create_max_pool1d(int64_t kernel_w, const htone_pool_options* options, htone_module** out) {
  return guard([&] { wrap(out, make_ref<nn::Pool>(ops::max_pool1d, checked_pool_options(options, 1, kernel_w, 1))); });
}

htone_status htone_module_create_max_pool2d(int64_t kernel_h, int64_t kernel_w, const htone_pool_options* options,
                                            htone_module** out) {
  return guard(
      [&] { wrap(out, make_ref<nn::Pool>(ops::max_pool2d, checked_pool_options(options, kernel_h, kernel_w, 2))); });
}

htone_status htone_module_create_avg_pool1d(int64_t kernel_w, const htone_pool_options* options, htone_module** out) {
  return guard(
      [&] { wrap(out, make_ref<nn::Pool>(ops::avg_pool1d, checked_average_options(options, 1, kernel_w, 1))); });
}

htone_status htone_module_create_avg_pool2d(int64_t kernel_h, int64_t kernel_w, const htone_pool_options* options,
                                            htone_module** out) {
  return guard(
      [&] { wrap(out, make_ref<nn::Pool>(ops::avg_pool2d, checked_average_options(options, kernel_h, kernel_w, 2))); });
}

htone_status htone_module_create_adaptive_avg_pool1d(int64_t result_w, htone_module** out) {
  return guard([&] { make_adaptive(ops::adaptive_avg_pool1d, result_w, out); });
}

htone_status htone_module_create_adaptive_avg_pool2d(int64_t result_h, int64_t result_w, htone_module** out) {
  return guard([&] { make_adaptive(ops::adaptive_avg_pool2d, result_h, result_w, out); });
}

htone_status htone_module_create_adaptive_max_pool1d(int64_t result_w, htone_module** out) {
  return guard([&] { make_adaptive(ops::adaptive_max_pool1d, result_w, out); });
}

htone_status htone_module_create_adaptive_max_pool2d(int64_t result_h, int64_t result_w, htone_module** out) {
  return guard([&] { make_adaptive(ops::adaptive_max_pool2d, result_h, result_w, out); });
}
