#include "halftone/conv.h"

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
htone_conv_options checked_conv_options(const htone_conv_options* options) {
  const htone_conv_options settings = options_or_default(options, htone_conv_options(HTONE_CONV_OPTIONS_INIT));
  require_conv_dtype(settings.dtype);
  return settings;
}

ops::ConvOptions conv_options(const htone_conv_options& options) {
  return {.window = {.stride = {options.stride_h, options.stride_w},
                     .padding = {options.padding_h, options.padding_w},
                     .dilation = {options.dilation_h, options.dilation_w}},
          .output_padding = {options.output_padding_h, options.output_padding_w},
          .groups = options.groups};
}

ops::ConvOptions operation_options(const htone_conv_options* options) {
  return conv_options(checked_conv_options(options));
}

ConvLayerSizes sizes1d(int64_t in_channels, int64_t out_channels, int64_t kernel_w) {
  require_countable({{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_w", kernel_w}});
  return {in_channels, out_channels, {kernel_w}};
}
ConvLayerSizes sizes2d(int64_t in_channels, int64_t out_channels, int64_t kernel_h, int64_t kernel_w) {
  require_countable(
      {{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_h", kernel_h}, {"kernel_w", kernel_w}});
  return {in_channels, out_channels, {kernel_h, kernel_w}};
}

using ConvOperation = Tensor (*)(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                 const ops::ConvOptions&);

template <ConvOperation operation, ops::ConvKind kind>
Ref<nn::Module> make_layer(ContextDevice& device, const ConvLayerSizes& sizes, const htone_conv_options& settings) {
  const ops::ConvOptions options = conv_options(settings);
  ops::require_conv_options(kind, options);
  const auto apply = [options](const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return operation(input, weight, bias, options);
  };
  return make_ref<nn::Conv>(device, kind.op, apply, conv_parameters(kind, sizes, settings));
}

}  // namespace

htone_status htone_conv1d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                          const htone_conv_options* options, htone_tensor** out) {
  return Pure(ops::conv1d, input, weight, optional(bias), as<operation_options>(options), out);
}

htone_status htone_conv2d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                          const htone_conv_options* options, htone_tensor** out) {
  return Pure(ops::conv2d, input, weight, optional(bias), as<operation_options>(options), out);
}

htone_status htone_conv_transpose1d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv_options* options, htone_tensor** out) {
  return Pure(ops::conv_transpose1d, input, weight, optional(bias), as<operation_options>(options), out);
}

htone_status htone_conv_transpose2d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv_options* options, htone_tensor** out) {
  return Pure(ops::conv_transpose2d, input, weight, optional(bias), as<operation_options>(options), out);
}

htone_status htone_module_create_conv1d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                        int64_t kernel_w, const htone_conv_options* options, htone_module** out) {
  return Call(make_layer<ops::conv1d, ops::kConv1d>, device, as<sizes1d>(in_channels, out_channels, kernel_w),
              as<checked_conv_options>(options), out);
}

htone_status htone_module_create_conv2d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                        int64_t kernel_h, int64_t kernel_w, const htone_conv_options* options,
                                        htone_module** out) {
  return Call(make_layer<ops::conv2d, ops::kConv2d>, device, as<sizes2d>(in_channels, out_channels, kernel_h, kernel_w),
              as<checked_conv_options>(options), out);
}

htone_status htone_module_create_conv_transpose1d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_w, const htone_conv_options* options,
                                                  htone_module** out) {
  return Call(make_layer<ops::conv_transpose1d, ops::kConvTranspose1d>, device,
              as<sizes1d>(in_channels, out_channels, kernel_w), as<checked_conv_options>(options), out);
}

htone_status htone_module_create_conv_transpose2d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_h, int64_t kernel_w, const htone_conv_options* options,
                                                  htone_module** out) {
  return Call(make_layer<ops::conv_transpose2d, ops::kConvTranspose2d>, device,
              as<sizes2d>(in_channels, out_channels, kernel_h, kernel_w), as<checked_conv_options>(options), out);
}
