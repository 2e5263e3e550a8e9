#include "halftone/pool.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/pool.h"
#include "ops/pool/pool.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// The sizes of a window: {kernel_h, kernel_w}, or {1, kernel_w} over one dimension.
ops::PoolOptions checked_options(const htone_pool_options* options, int64_t kernel_h, int64_t kernel_w, int dims) {
  const htone_pool_options settings = options_or_default(options, htone_pool_options(HTONE_POOL_OPTIONS_INIT));
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

// Averages are not dilated.
ops::PoolOptions average_options(const ops::PoolOptions& options) {
  const int64_t* dilation = options.window.dilation;
  if (dilation[0] == 1 && dilation[1] == 1) return options;
  fail(Code::kInvalidArgument, "options", "options.dilation_h=%lld, dilation_w=%lld, expected 1 for averages",
       static_cast<long long>(dilation[0]), static_cast<long long>(dilation[1]));
}

ops::PoolOptions pool1d(int64_t kernel_w, const htone_pool_options* options) {
  return checked_options(options, 1, kernel_w, 1);
}
ops::PoolOptions pool2d(int64_t kernel_h, int64_t kernel_w, const htone_pool_options* options) {
  return checked_options(options, kernel_h, kernel_w, 2);
}
ops::PoolOptions average1d(int64_t kernel_w, const htone_pool_options* options) {
  return average_options(pool1d(kernel_w, options));
}
ops::PoolOptions average2d(int64_t kernel_h, int64_t kernel_w, const htone_pool_options* options) {
  return average_options(pool2d(kernel_h, kernel_w, options));
}

int64_t result_size(int64_t size, ArgumentName name) {
  ops::require_result_size(size, name.text());
  return size;
}

// A module that applies the operation.
template <Op kind, nn::PoolOp op>
Ref<nn::Pool> make_pool(const ops::PoolOptions& options) {
  return make_ref<nn::Pool>(kind, op, options);
}
template <Op kind, nn::AdaptivePool1d::PoolTo op>
Ref<nn::AdaptivePool1d> make_adaptive1d(int64_t result_w) {
  return make_ref<nn::AdaptivePool1d>(kind, op, result_w);
}
template <Op kind, nn::AdaptivePool2d::PoolTo op>
Ref<nn::AdaptivePool2d> make_adaptive2d(int64_t result_h, int64_t result_w) {
  return make_ref<nn::AdaptivePool2d>(kind, op, result_h, result_w);
}

}  // namespace

htone_status htone_max_pool1d(htone_tensor* input, int64_t kernel_w, const htone_pool_options* options,
                              htone_tensor** out) {
  return Pure(ops::max_pool1d, input, as<pool1d>(kernel_w, options), out);
}

htone_status htone_max_pool2d(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                              const htone_pool_options* options, htone_tensor** out) {
  return Pure(ops::max_pool2d, input, as<pool2d>(kernel_h, kernel_w, options), out);
}

htone_status htone_avg_pool1d(htone_tensor* input, int64_t kernel_w, const htone_pool_options* options,
                              htone_tensor** out) {
  return Pure(ops::avg_pool1d, input, as<average1d>(kernel_w, options), out);
}

htone_status htone_avg_pool2d(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                              const htone_pool_options* options, htone_tensor** out) {
  return Pure(ops::avg_pool2d, input, as<average2d>(kernel_h, kernel_w, options), out);
}

htone_status htone_adaptive_avg_pool1d(htone_tensor* input, int64_t result_w, htone_tensor** out) {
  return Pure(ops::adaptive_avg_pool1d, input, result_w, out);
}

htone_status htone_adaptive_avg_pool2d(htone_tensor* input, int64_t result_h, int64_t result_w, htone_tensor** out) {
  return Pure(ops::adaptive_avg_pool2d, input, result_h, result_w, out);
}

htone_status htone_adaptive_max_pool1d(htone_tensor* input, int64_t result_w, htone_tensor** out) {
  return Pure(ops::adaptive_max_pool1d, input, result_w, out);
}

htone_status htone_adaptive_max_pool2d(htone_tensor* input, int64_t result_h, int64_t result_w, htone_tensor** out) {
  return Pure(ops::adaptive_max_pool2d, input, result_h, result_w, out);
}

htone_status htone_module_create_max_pool1d(int64_t kernel_w, const htone_pool_options* options, htone_module** out) {
  return Call(make_pool<Op::kMaxPool1d, ops::max_pool1d>, as<pool1d>(kernel_w, options), out);
}

htone_status htone_module_create_max_pool2d(int64_t kernel_h, int64_t kernel_w, const htone_pool_options* options,
                                            htone_module** out) {
  return Call(make_pool<Op::kMaxPool2d, ops::max_pool2d>, as<pool2d>(kernel_h, kernel_w, options), out);
}

htone_status htone_module_create_avg_pool1d(int64_t kernel_w, const htone_pool_options* options, htone_module** out) {
  return Call(make_pool<Op::kAvgPool1d, ops::avg_pool1d>, as<average1d>(kernel_w, options), out);
}

htone_status htone_module_create_avg_pool2d(int64_t kernel_h, int64_t kernel_w, const htone_pool_options* options,
                                            htone_module** out) {
  return Call(make_pool<Op::kAvgPool2d, ops::avg_pool2d>, as<average2d>(kernel_h, kernel_w, options), out);
}

htone_status htone_module_create_adaptive_avg_pool1d(int64_t result_w, htone_module** out) {
  return Call(make_adaptive1d<Op::kAdaptiveAvgPool1d, ops::adaptive_avg_pool1d>, as<result_size>(result_w), out);
}

htone_status htone_module_create_adaptive_avg_pool2d(int64_t result_h, int64_t result_w, htone_module** out) {
  return Call(make_adaptive2d<Op::kAdaptiveAvgPool2d, ops::adaptive_avg_pool2d>, as<result_size>(result_h),
              as<result_size>(result_w), out);
}

htone_status htone_module_create_adaptive_max_pool1d(int64_t result_w, htone_module** out) {
  return Call(make_adaptive1d<Op::kAdaptiveMaxPool1d, ops::adaptive_max_pool1d>, as<result_size>(result_w), out);
}

htone_status htone_module_create_adaptive_max_pool2d(int64_t result_h, int64_t result_w, htone_module** out) {
  return Call(make_adaptive2d<Op::kAdaptiveMaxPool2d, ops::adaptive_max_pool2d>, as<result_size>(result_h),
              as<result_size>(result_w), out);
}
