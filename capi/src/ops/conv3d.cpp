#include "halftone/conv3d.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "ops/conv/conv.h"
#include "ops/conv_layer.h"
#include "runtime/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// Checks the fields that only modules use; the operation checks the others.
htone_conv3d_options checked_conv3d_options(const htone_conv3d_options* options) {
  const htone_conv3d_options settings = options_or_default(options, htone_conv3d_options(HTONE_CONV3D_OPTIONS_INIT));
  require_conv_dtype(settings.dtype);
  return settings;
}

ops::Conv3dOptions conv3d_options(const htone_conv3d_options& options) {
  return {.stride = {options.stride_d, options.stride_h, options.stride_w},
          .padding = {options.padding_d, options.padding_h, options.padding_w},
          .dilation = {options.dilation_d, options.dilation_h, options.dilation_w},
          .output_padding = {options.output_padding_d, options.output_padding_h, options.output_padding_w},
          .groups = options.groups};
}

ops::Conv3dOptions conv3d_operation_options(const htone_conv3d_options* options) {
  return conv3d_options(checked_conv3d_options(options));
}

ConvLayerSizes sizes3d(int64_t in_channels, int64_t out_channels, int64_t kernel_d, int64_t kernel_h,
                       int64_t kernel_w) {
  require_countable({{"in_channels", in_channels},
                     {"out_channels", out_channels},
                     {"kernel_d", kernel_d},
                     {"kernel_h", kernel_h},
                     {"kernel_w", kernel_w}});
  return {in_channels, out_channels, {kernel_d, kernel_h, kernel_w}};
}

using Conv3d = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ops::Conv3dOptions&);

template <const ops::ConvKind& kind, Conv3d convolve>
Ref<nn::Module> make_conv3d(ContextDevice& device, const ConvLayerSizes& sizes, const htone_conv3d_options& settings) {
  const ops::Conv3dOptions options = conv3d_options(settings);
  ops::require_conv3d_options(kind, options);
  const auto apply = [options](const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return convolve(input, weight, bias, options);
  };
  return make_ref<nn::Conv>(device, kind.op, apply, conv_parameters(kind, sizes, settings));
}

}  // namespace

htone_status htone_conv3d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                          const htone_conv3d_options* options, htone_tensor** out) {
  return Pure(ops::conv3d, input, weight, optional(bias), as<conv3d_operation_options>(options), out);
}

htone_status htone_conv_transpose3d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv3d_options* options, htone_tensor** out) {
  return Pure(ops::conv_transpose3d, input, weight, optional(bias), as<conv3d_operation_options>(options), out);
}

htone_status htone_module_create_conv3d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                        int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                        const htone_conv3d_options* options, htone_module** out) {
  return Call(make_conv3d<ops::kConv3d, ops::conv3d>, device,
              as<sizes3d>(in_channels, out_channels, kernel_d, kernel_h, kernel_w), as<checked_conv3d_options>(options),
              out);
}

htone_status htone_module_create_conv_transpose3d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                                  const htone_conv3d_options* options, htone_module** out) {
  return Call(make_conv3d<ops::kConvTranspose3d, ops::conv_transpose3d>, device,
              as<sizes3d>(in_channels, out_channels, kernel_d, kernel_h, kernel_w), as<checked_conv3d_options>(options),
              out);
}
