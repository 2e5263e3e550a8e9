#include "halftone/norm_modules.h"

#include <cinttypes>

#include "guard.h"
#include "nn/batch_norm.h"
#include "norm_arguments.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_norm_options default_norm_options() {
  htone_norm_options options = {};
  options.struct_size = sizeof options;
  options.affine = 1;
  options.bias = 1;
  options.dtype = HTONE_F32;
  options.epsilon = 1e-5;
  return options;
}

htone_batch_norm_options default_batch_norm_options() {
  htone_batch_norm_options options = {};
  options.struct_size = sizeof options;
  options.affine = 1;
  options.track_running_stats = 1;
  options.epsilon = 1e-5;
  options.momentum = 0.1;
  options.dtype = HTONE_F32;
  return options;
}

// The caller's options, checked.
htone_norm_options norm_settings(const htone_norm_options* options) {
  const htone_norm_options settings = options_or_default(options, default_norm_options());
  checked_weight_dtype(settings.dtype, "options", "options.dtype");
  require_epsilon(settings.epsilon, "options", "options.epsilon");
  return settings;
}

htone_batch_norm_options batch_norm_settings(const htone_batch_norm_options* options) {
  const htone_batch_norm_options settings = options_or_default(options, default_batch_norm_options());
  checked_weight_dtype(settings.dtype, "options", "options.dtype");
  require_epsilon(settings.epsilon, "options", "options.epsilon");
  if (!(settings.momentum >= 0.0 && settings.momentum <= 1.0)) {
    fail(Code::kInvalidArgument, "options", "options.momentum=%g, expected a number in [0, 1]", settings.momentum);
  }
  return settings;
}

nn::Affine make_affine(ContextDevice& device, const Shape& shape, const htone_norm_options& settings, bool has_bias) {
  const bool is_affine = settings.affine != 0;
  return nn::Affine::make(device, shape, static_cast<DType>(settings.dtype), is_affine, is_affine && has_bias);
}

// [channels], at least 1 and countable in bytes.
Shape checked_channels(int64_t channels) {
  if (channels < 1) {
    fail(Code::kInvalidArgument, "channels", "channels=%" PRId64 ", expected at least 1", channels);
  }
  return checked_shape(&channels, 1, "channels");
}

Ref<nn::Module> make_batch_norm(ContextDevice& device, int64_t channels, const htone_batch_norm_options& settings,
                                int least_rank, int most_rank) {
  const Shape shape = checked_channels(channels);
  const DType dtype = static_cast<DType>(settings.dtype);
  const bool is_affine = settings.affine != 0;
  const nn::BatchNormOptions options = {.epsilon = settings.epsilon,
                                        .momentum = settings.momentum,
                                        .is_cumulative = settings.cumulative != 0,
                                        .tracks = settings.track_running_stats != 0,
                                        .least_rank = least_rank,
                                        .most_rank = most_rank};
  return make_ref<nn::BatchNorm>(device, channels, dtype, options,
                                 nn::Affine::make(device, shape, dtype, is_affine, is_affine));
}

}  // namespace

htone_status htone_norm_options_init(htone_norm_options* options) {
  return guard([&] { require(options, "options") = default_norm_options(); });
}

htone_status htone_module_create_layer_norm(htone_device* device, int32_t ndim, const int64_t* normalized_shape,
                                            const htone_norm_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    const Shape shape = checked_normalized_shape(ndim, normalized_shape);
    const htone_norm_options settings = norm_settings(options);
    wrap(out,
         make_ref<nn::LayerNorm>(shape, settings.epsilon, make_affine(target, shape, settings, settings.bias != 0)));
  });
}

htone_status htone_module_create_rms_norm(htone_device* device, int32_t ndim, const int64_t* normalized_shape,
                                          const htone_norm_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    const Shape shape = checked_normalized_shape(ndim, normalized_shape);
    const htone_norm_options settings = norm_settings(options);
    wrap(out, make_ref<nn::RmsNorm>(shape, settings.epsilon, make_affine(target, shape, settings, false)));
  });
}

htone_status htone_module_create_group_norm(htone_device* device, int64_t groups, int64_t channels,
                                            const htone_norm_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    const Shape shape = checked_channels(channels);
    if (groups < 1 || channels % groups != 0) {
      fail(Code::kInvalidArgument, "groups", "groups=%" PRId64 " does not divide channels=%" PRId64, groups, channels);
    }
    const htone_norm_options settings = norm_settings(options);
    wrap(out, make_ref<nn::GroupNorm>(groups, channels, settings.epsilon,
                                      make_affine(target, shape, settings, settings.bias != 0)));
  });
}

htone_status htone_batch_norm_options_init(htone_batch_norm_options* options) {
  return guard([&] { require(options, "options") = default_batch_norm_options(); });
}

htone_status htone_module_create_batch_norm_1d(htone_device* device, int64_t channels,
                                               const htone_batch_norm_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    wrap(out, make_batch_norm(target, channels, batch_norm_settings(options), 2, 3));
  });
}

htone_status htone_module_create_batch_norm_2d(htone_device* device, int64_t channels,
                                               const htone_batch_norm_options* options, htone_module** out) {
  return guard([&] {
    ContextDevice& target = unwrap(device, "device")->device;
    wrap(out, make_batch_norm(target, channels, batch_norm_settings(options), 4, 4));
  });
}
