#include "halftone/pool3d.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/pool.h"
#include "ops/pool/pool3d.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

ops::Pool3dOptions pool3d(int64_t kernel_d, int64_t kernel_h, int64_t kernel_w, const htone_pool3d_options* options) {
  const htone_pool3d_options settings = options_or_default(options, htone_pool3d_options(HTONE_POOL3D_OPTIONS_INIT));
  ops::Pool3dOptions converted = {.kernel = {kernel_d, kernel_h, kernel_w},
                                  .stride = {settings.stride_d, settings.stride_h, settings.stride_w},
                                  .padding = {settings.padding_d, settings.padding_h, settings.padding_w},
                                  .dilation = {settings.dilation_d, settings.dilation_h, settings.dilation_w},
                                  .counts_padding = settings.count_include_pad != 0,
                                  .last_window = settings.ceil_mode != 0 ? LastWindow::kCut : LastWindow::kWhole};
  for (int d = 0; d < 3; ++d) {
    if (converted.stride[d] == 0) converted.stride[d] = converted.kernel[d];
  }
  ops::require_pool3d_options(converted);
  return converted;
}

// Averages are not dilated.
ops::Pool3dOptions average3d(int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                             const htone_pool3d_options* options) {
  const ops::Pool3dOptions converted = pool3d(kernel_d, kernel_h, kernel_w, options);
  for (const int64_t dilation : converted.dilation) {
    if (dilation == 1) continue;
    fail(Code::kInvalidArgument, "options", "options.dilation=%lld, expected 1 for averages",
         static_cast<long long>(dilation));
  }
  return converted;
}

template <Op kind, nn::Pool3d::PoolOp op>
Ref<nn::Pool3d> make_pool3d(const ops::Pool3dOptions& options) {
  return make_ref<nn::Pool3d>(kind, op, options);
}

}  // namespace

htone_status htone_max_pool3d(htone_tensor* input, int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                              const htone_pool3d_options* options, htone_tensor** out) {
  return Pure(ops::max_pool3d, input, as<pool3d>(kernel_d, kernel_h, kernel_w, options), out);
}

htone_status htone_avg_pool3d(htone_tensor* input, int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                              const htone_pool3d_options* options, htone_tensor** out) {
  return Pure(ops::avg_pool3d, input, as<average3d>(kernel_d, kernel_h, kernel_w, options), out);
}

htone_status htone_module_create_max_pool3d(int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                            const htone_pool3d_options* options, htone_module** out) {
  return Call(make_pool3d<Op::kMaxPool3d, ops::max_pool3d>, as<pool3d>(kernel_d, kernel_h, kernel_w, options), out);
}

htone_status htone_module_create_avg_pool3d(int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                            const htone_pool3d_options* options, htone_module** out) {
  return Call(make_pool3d<Op::kAvgPool3d, ops::avg_pool3d>, as<average3d>(kernel_d, kernel_h, kernel_w, options), out);
}
