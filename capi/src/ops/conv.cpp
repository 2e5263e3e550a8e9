#include "halftone/conv.h"

#include <algorithm>

#include "base/call.h"
#include "nn/conv.h"
#include "ops/conv/window.h"
#include "ops/dispatch/check.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// Checks the fields that only modules use; the operation checks the others.
htone_conv_options checked_conv_options(const htone_conv_options* options) {
  const htone_conv_options settings = options_or_default(options, htone_conv_options(HTONE_CONV_OPTIONS_INIT));
  if (!is_arithmetic_float(static_cast<DType>(settings.dtype))) {
    fail(Code::kInvalidArgument, "options", "options.dtype=%s, expected f64, f32, f16 or bf16",
         htone_dtype_name(settings.dtype));
  }
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

struct NamedSize {
  const char* name;
  int64_t value;
};

// Weights of these sizes must be countable in bytes.
void require_countable(std::initializer_list<NamedSize> sizes) {
  int64_t bytes = sizeof(double);
  const auto by_value = [](const NamedSize& a, const NamedSize& b) { return a.value < b.value; };
  const NamedSize largest = std::max(sizes, by_value);
  for (const NamedSize& size : sizes) {
    if (size.value < 1) {
      fail(Code::kInvalidArgument, size.name, "%s=%lld, expected at least 1", size.name,
           static_cast<long long>(size.value));
    }
    if (__builtin_mul_overflow(bytes, size.value, &bytes)) {
      fail(Code::kInvalidArgument, largest.name, "%s=%lld: weights have more elements than 64 bits can count in bytes",
           largest.name, static_cast<long long>(largest.value));
    }
  }
}

void require_groups(int64_t groups, int64_t in_channels, int64_t out_channels) {
  if (groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0) return;
  fail(Code::kInvalidArgument, "options", "options.groups=%lld does not divide in_channels=%lld and out_channels=%lld",
       static_cast<long long>(groups), static_cast<long long>(in_channels), static_cast<long long>(out_channels));
}

// The sizes of a layer: its channels, and its kernel in one or two dimensions.
struct LayerSizes {
  int64_t in_channels;
  int64_t out_channels;
  Shape kernel;
};
LayerSizes sizes1d(int64_t in_channels, int64_t out_channels, int64_t kernel_w) {
  require_countable({{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_w", kernel_w}});
  return {in_channels, out_channels, {kernel_w}};
}
LayerSizes sizes2d(int64_t in_channels, int64_t out_channels, int64_t kernel_h, int64_t kernel_w) {
  require_countable(
      {{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_h", kernel_h}, {"kernel_w", kernel_w}});
  return {in_channels, out_channels, {kernel_h, kernel_w}};
}

template <nn::ConvOp op, ops::ConvKind kind>
Ref<nn::Module> make_layer(ContextDevice& device, const LayerSizes& sizes, const htone_conv_options& settings) {
  const ops::ConvOptions options = conv_options(settings);
  ops::require_conv_options(kind, options);
  require_groups(options.groups, sizes.in_channels, sizes.out_channels);
  nn::ConvParameters parameters = {.weight = {sizes.out_channels, sizes.in_channels / options.groups},
                                   .out_channels = sizes.out_channels,
                                   .bias = settings.bias != 0,
                                   .dtype = static_cast<DType>(settings.dtype)};
  if (kind.transposes) parameters.weight = {sizes.in_channels, sizes.out_channels / options.groups};
  for (const int64_t size : sizes.kernel) parameters.weight.push_back(size);
  return make_ref<nn::Conv>(device, kind.op, op, parameters, options);
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
