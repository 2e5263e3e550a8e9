#include "halftone/conv.h"

#include <algorithm>

#include "arguments.h"
#include "guard.h"
#include "nn/conv.h"
#include "ops/check.h"
#include "ops/conv/window.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_conv_options default_conv_options() {
  htone_conv_options options = {};
  options.struct_size = sizeof options;
  options.bias = 1;
  options.dtype = HTONE_F32;
  options.stride_h = options.stride_w = 1;
  options.dilation_h = options.dilation_w = 1;
  options.groups = 1;
  return options;
}

// The caller's options, those of modules checked.
htone_conv_options checked_conv_options(const htone_conv_options* options) {
  const htone_conv_options settings = options_or_default(options, default_conv_options());
  if (!is_arithmetic_float(static_cast<DType>(settings.dtype))) {
    fail(Code::kInvalidArgument, "options", "options.dtype=%s, expected f64, f32, f16 or bf16",
         htone_dtype_name(settings.dtype));
  }
  return settings;
}

ops::ConvOptions unwrap_conv_options(const htone_conv_options& options) {
  return {.window = {.stride = {options.stride_h, options.stride_w},
                     .padding = {options.padding_h, options.padding_w},
                     .dilation = {options.dilation_h, options.dilation_w}},
          .output_padding = {options.output_padding_h, options.output_padding_w},
          .groups = options.groups};
}

// One call of an operation.
struct ConvArguments {
  htone_tensor* input;
  htone_tensor* weight;
  htone_tensor* bias;
  const htone_conv_options* options;
};

void convolve(nn::ConvOp op, const ConvArguments& arguments, htone_tensor** out) {
  const Tensor& x = unwrap(arguments.input, "input");
  const Tensor& w = unwrap(arguments.weight, "weight");
  const Tensor b = unwrap_optional(arguments.bias, "bias");
  wrap(out, op(x, w, b, unwrap_conv_options(checked_conv_options(arguments.options))));
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

// One layer: its operation, its dimensions, and its kernel of as many sizes.
struct ConvLayer {
  nn::ConvOp op;
  ops::ConvKind kind;
  int64_t in_channels;
  int64_t out_channels;
  Shape kernel;
};

void make_layer(htone_device* device, const ConvLayer& layer, const htone_conv_options* options, htone_module** out) {
  ContextDevice& target = unwrap(device, "device")->device;
  const htone_conv_options settings = checked_conv_options(options);
  const ops::ConvOptions converted = unwrap_conv_options(settings);
  ops::require_conv_options(layer.kind, converted);
  require_groups(converted.groups, layer.in_channels, layer.out_channels);
  const bool transposes = layer.kind.transposes;
  nn::ConvParameters parameters = {.weight = {transposes ? layer.in_channels : layer.out_channels,
                                              (transposes ? layer.out_channels : layer.in_channels) / converted.groups},
                                   .out_channels = layer.out_channels,
                                   .bias = settings.bias != 0,
                                   .dtype = static_cast<DType>(settings.dtype)};
  for (const int64_t size : layer.kernel) parameters.weight.push_back(size);
  require(out, "out");  // before random streams are taken
  wrap(out, make_ref<nn::Conv>(target, layer.op, parameters, converted));
}

}  // namespace

htone_status htone_conv_options_init(htone_conv_options* options) {
  return guard([&] { require(options, "options") = default_conv_options(); });
}

htone_status htone_conv1d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                          const htone_conv_options* options, htone_tensor** out) {
  return guard([&] { convolve(ops::conv1d, {input, weight, bias, options}, out); });
}

htone_status htone_conv2d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                          const htone_conv_options* options, htone_tensor** out) {
  return guard([&] { convolve(ops::conv2d, {input, weight, bias, options}, out); });
}

htone_status htone_conv_transpose1d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv_options* options, htone_tensor** out) {
  return guard([&] { convolve(ops::conv_transpose1d, {input, weight, bias, options}, out); });
}

htone_status htone_conv_transpose2d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv_options* options, htone_tensor** out) {
  return guard([&] { convolve(ops::conv_transpose2d, {input, weight, bias, options}, out); });
}

htone_status htone_module_create_conv1d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                        int64_t kernel_w, const htone_conv_options* options, htone_module** out) {
  return guard([&] {
    require_countable({{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_w", kernel_w}});
    make_layer(device, {ops::conv1d, ops::kConv1d, in_channels, out_channels, {kernel_w}}, options, out);
  });
}

htone_status htone_module_create_conv2d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                        int64_t kernel_h, int64_t kernel_w, const htone_conv_options* options,
                                        htone_module** out) {
  return guard([&] {
    require_countable(
        {{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_h", kernel_h}, {"kernel_w", kernel_w}});
    make_layer(device, {ops::conv2d, ops::kConv2d, in_channels, out_channels, {kernel_h, kernel_w}}, options, out);
  });
}

htone_status htone_module_create_conv_transpose1d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_w, const htone_conv_options* options,
                                                  htone_module** out) {
  return guard([&] {
    require_countable({{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_w", kernel_w}});
    make_layer(device, {ops::conv_transpose1d, ops::kConvTranspose1d, in_channels, out_channels, {kernel_w}}, options,
               out);
  });
}

htone_status htone_module_create_conv_transpose2d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_h, int64_t kernel_w, const htone_conv_options* options,
                                                  htone_module** out) {
  return guard([&] {
    require_countable(
        {{"in_channels", in_channels}, {"out_channels", out_channels}, {"kernel_h", kernel_h}, {"kernel_w", kernel_w}});
    make_layer(device, {ops::conv_transpose2d, ops::kConvTranspose2d, in_channels, out_channels, {kernel_h, kernel_w}},
               options, out);
  });
}
