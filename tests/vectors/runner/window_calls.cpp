// Pooling, convolution and images of another size.
#include <map>

#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Pool1 = htone_status (*)(htone_tensor*, int64_t, const htone_pool_options*, htone_tensor**);
using Pool2 = htone_status (*)(htone_tensor*, int64_t, int64_t, const htone_pool_options*, htone_tensor**);
using Adaptive1 = htone_status (*)(htone_tensor*, int64_t, htone_tensor**);
using Adaptive2 = htone_status (*)(htone_tensor*, int64_t, int64_t, htone_tensor**);
using Conv = htone_status (*)(htone_tensor*, htone_tensor*, htone_tensor*, const htone_conv_options*, htone_tensor**);

template <class Options>
void apply_sides(const Call& call, Options& options) {
  options.stride_h = call.whole("stride_h", options.stride_h);
  options.stride_w = call.whole("stride_w", options.stride_w);
  options.padding_h = call.whole("padding_h");
  options.padding_w = call.whole("padding_w");
  options.dilation_h = call.whole("dilation_h", 1);
  options.dilation_w = call.whole("dilation_w", 1);
}

htone_pool_options pool_options(const Call& call) {
  htone_pool_options options;
  ok(htone_pool_options_init(&options));
  apply_sides(call, options);
  options.count_include_pad = call.flag("count_include_pad", true) ? 1 : 0;
  options.ceil_mode = call.flag("ceil_mode") ? 1 : 0;
  return options;
}

htone_conv_options conv_options(const Call& call) {
  htone_conv_options options;
  ok(htone_conv_options_init(&options));
  apply_sides(call, options);
  options.output_padding_h = call.whole("output_padding_h");
  options.output_padding_w = call.whole("output_padding_w");
  options.groups = call.whole("groups", 1);
  return options;
}

auto pooling(Pool1 function) {
  return [=](const Call& call) {
    const htone_pool_options options = pool_options(call);
    return results(compute(function, call.inputs[0], call.list("kernel").at(0), &options));
  };
}

auto pooling(Pool2 function) {
  return [=](const Call& call) {
    const htone_pool_options options = pool_options(call);
    const std::vector<int64_t> kernel = call.list("kernel");
    return results(compute(function, call.inputs[0], kernel.at(0), kernel.at(1), &options));
  };
}

auto adapting(Adaptive1 function) {
  return [=](const Call& call) { return results(compute(function, call.inputs[0], call.list("result").at(0))); };
}

auto adapting(Adaptive2 function) {
  return [=](const Call& call) {
    const std::vector<int64_t> sizes = call.list("result");
    return results(compute(function, call.inputs[0], sizes.at(0), sizes.at(1)));
  };
}

auto convolving(Conv function) {
  return [=](const Call& call) {
    const htone_conv_options options = conv_options(call);
    return results(compute(function, call.inputs[0], call.inputs[1], call.inputs[2], &options));
  };
}

using Conv3 = htone_status (*)(htone_tensor*, htone_tensor*, htone_tensor*, const htone_conv3d_options*,
                               htone_tensor**);

Tensors convolve_volumes(Conv3 function, const Call& call) {
  htone_conv3d_options options;
  ok(htone_conv3d_options_init(&options));
  apply_sides(call, options);
  options.stride_d = call.whole("stride_d", 1);
  options.padding_d = call.whole("padding_d");
  options.dilation_d = call.whole("dilation_d", 1);
  options.output_padding_d = call.whole("output_padding_d");
  options.output_padding_h = call.whole("output_padding_h");
  options.output_padding_w = call.whole("output_padding_w");
  options.groups = call.whole("groups", 1);
  const htone_conv3d_options* given = &options;
  return results(compute(function, call.inputs[0], call.inputs[1], call.inputs[2], given));
}

auto convolving(Conv3 function) {
  return [=](const Call& call) { return convolve_volumes(function, call); };
}

using Pool3 = htone_status (*)(htone_tensor*, int64_t, int64_t, int64_t, const htone_pool3d_options*, htone_tensor**);

auto pooling(Pool3 function) {
  return [=](const Call& call) {
    htone_pool3d_options options;
    ok(htone_pool3d_options_init(&options));
    apply_sides(call, options);
    options.stride_d = call.whole("stride_d");
    options.padding_d = call.whole("padding_d");
    options.dilation_d = call.whole("dilation_d", 1);
    options.count_include_pad = call.flag("count_include_pad", true) ? 1 : 0;
    options.ceil_mode = call.flag("ceil_mode") ? 1 : 0;
    const std::vector<int64_t> kernel = call.list("kernel");
    const htone_pool3d_options* given = &options;
    return results(compute(function, call.inputs[0], kernel.at(0), kernel.at(1), kernel.at(2), given));
  };
}

htone_unfold_options unfold_options(const Call& call) {
  htone_unfold_options options;
  ok(htone_unfold_options_init(&options));
  apply_sides(call, options);
  return options;
}

Tensors unfold(const Call& call) {
  const htone_unfold_options options = unfold_options(call);
  const std::vector<int64_t> kernel = call.list("kernel");
  return results(compute(htone_unfold, call.inputs[0], kernel.at(0), kernel.at(1), &options));
}

Tensors fold(const Call& call) {
  const htone_unfold_options options = unfold_options(call);
  const std::vector<int64_t> kernel = call.list("kernel"), result = call.list("result");
  return results(compute(htone_fold, call.inputs[0], result.at(0), result.at(1), kernel.at(0), kernel.at(1), &options));
}

int32_t align_corners(const Call& call) { return call.flag("align_corners") ? 1 : 0; }

Tensors upsample_linear1d(const Call& call) {
  return results(compute(htone_upsample_linear1d, call.inputs[0], call.list("result").at(0), align_corners(call)));
}

using Resize2 = htone_status (*)(htone_tensor*, int64_t, int64_t, int32_t, htone_tensor**);

auto resizing(Resize2 function) {
  return [=](const Call& call) {
    const std::vector<int64_t> sizes = call.list("result");
    return results(compute(function, call.inputs[0], sizes.at(0), sizes.at(1), align_corners(call)));
  };
}

Tensors grid_sample(const Call& call) {
  static const std::map<std::string, htone_grid_mode> modes = {{"bilinear", HTONE_GRID_MODE_BILINEAR},
                                                               {"nearest", HTONE_GRID_MODE_NEAREST},
                                                               {"bicubic", HTONE_GRID_MODE_BICUBIC}};
  static const std::map<std::string, htone_grid_padding> paddings = {{"zeros", HTONE_GRID_PADDING_ZEROS},
                                                                     {"border", HTONE_GRID_PADDING_BORDER},
                                                                     {"reflection", HTONE_GRID_PADDING_REFLECTION}};
  return results(compute(htone_grid_sample, call.inputs[0], call.inputs[1], modes.at(call.settings.at("mode")),
                         paddings.at(call.settings.at("padding_mode")), align_corners(call)));
}

}  // namespace

Calls window_calls() {
  return {{"max_pool1d", pooling(htone_max_pool1d)},
          {"max_pool2d", pooling(htone_max_pool2d)},
          {"avg_pool1d", pooling(htone_avg_pool1d)},
          {"avg_pool2d", pooling(htone_avg_pool2d)},
          {"adaptive_avg_pool1d", adapting(htone_adaptive_avg_pool1d)},
          {"adaptive_avg_pool2d", adapting(htone_adaptive_avg_pool2d)},
          {"adaptive_max_pool1d", adapting(htone_adaptive_max_pool1d)},
          {"adaptive_max_pool2d", adapting(htone_adaptive_max_pool2d)},
          {"upsample_nearest1d", adapting(htone_upsample_nearest1d)},
          {"upsample_nearest2d", adapting(htone_upsample_nearest2d)},
          {"upsample_linear1d", upsample_linear1d},
          {"upsample_bilinear2d", resizing(htone_upsample_bilinear2d)},
          {"upsample_bicubic2d", resizing(htone_upsample_bicubic2d)},
          {"grid_sample", grid_sample},
          {"max_pool3d", pooling(htone_max_pool3d)},
          {"avg_pool3d", pooling(htone_avg_pool3d)},
          {"unfold", unfold},
          {"fold", fold},
          {"conv3d", convolving(htone_conv3d)},
          {"conv_transpose3d", convolving(htone_conv_transpose3d)},
          {"conv1d", convolving(htone_conv1d)},
          {"conv2d", convolving(htone_conv2d)},
          {"conv_transpose1d", convolving(htone_conv_transpose1d)},
          {"conv_transpose2d", convolving(htone_conv_transpose2d)}};
}

}  // namespace vectors
