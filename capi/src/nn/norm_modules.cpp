#include "halftone/norm_modules.h"

#include <cinttypes>

#include "base/call.h"
#include "nn/batch_norm.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/norm_arguments.h"
#include "runtime/handles.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// The caller's options, checked.
htone_norm_options norm_settings(const htone_norm_options* options) {
  const htone_norm_options settings = options_or_default(options, htone_norm_options(HTONE_NORM_OPTIONS_INIT));
  checked_weight_dtype(settings.dtype, "options", "options.dtype");
  require_epsilon(settings.epsilon, "options", "options.epsilon");
  return settings;
}

htone_batch_norm_options batch_norm_settings(const htone_batch_norm_options* options) {
  const htone_batch_norm_options settings =
      options_or_default(options, htone_batch_norm_options(HTONE_BATCH_NORM_OPTIONS_INIT));
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

// [channels], countable in bytes.
Shape channel_shape(int64_t channels) {
  positive(channels, "channels");
  return checked_shape(&channels, 1, "channels");
}

struct Groups {
  int64_t groups;
  int64_t channels;
};
Groups channel_groups(int64_t groups, int64_t channels) {
  channel_shape(channels);
  if (groups < 1 || channels % groups != 0) {
    fail(Code::kInvalidArgument, "groups", "groups=%" PRId64 " does not divide channels=%" PRId64, groups, channels);
  }
  return {groups, channels};
}

Ref<nn::Module> make_layer_norm(ContextDevice& device, const Shape& shape, const htone_norm_options& settings) {
  return make_ref<nn::LayerNorm>(shape, settings.epsilon, make_affine(device, shape, settings, settings.bias != 0));
}

Ref<nn::Module> make_rms_norm(ContextDevice& device, const Shape& shape, const htone_norm_options& settings) {
  return make_ref<nn::RmsNorm>(shape, settings.epsilon, make_affine(device, shape, settings, false));
}

Ref<nn::Module> make_group_norm(ContextDevice& device, const Groups& sizes, const htone_norm_options& settings) {
  return make_ref<nn::GroupNorm>(sizes.groups, sizes.channels, settings.epsilon,
                                 make_affine(device, {sizes.channels}, settings, settings.bias != 0));
}

Ref<nn::Module> make_instance_norm(ContextDevice& device, const Shape& channels, const htone_norm_options& settings) {
  return make_ref<nn::InstanceNorm>(channels[0], settings.epsilon,
                                    make_affine(device, channels, settings, settings.bias != 0));
}

template <int least_rank, int most_rank>
Ref<nn::Module> make_batch_norm(ContextDevice& device, const Shape& channels,
                                const htone_batch_norm_options& settings) {
  const DType dtype = static_cast<DType>(settings.dtype);
  const bool is_affine = settings.affine != 0;
  const nn::BatchNormOptions options = {.epsilon = settings.epsilon,
                                        .momentum = settings.momentum,
                                        .is_cumulative = settings.cumulative != 0,
                                        .tracks = settings.track_running_stats != 0,
                                        .least_rank = least_rank,
                                        .most_rank = most_rank};
  return make_ref<nn::BatchNorm>(device, channels[0], dtype, options,
                                 nn::Affine::make(device, channels, dtype, is_affine, is_affine));
}

}  // namespace

htone_status htone_module_create_layer_norm(htone_device* device, int32_t ndim, const int64_t* normalized_shape,
                                            const htone_norm_options* options, htone_module** out) {
  return Call(make_layer_norm, device, as<normalized_dims>(ndim, normalized_shape), as<norm_settings>(options), out);
}

htone_status htone_module_create_rms_norm(htone_device* device, int32_t ndim, const int64_t* normalized_shape,
                                          const htone_norm_options* options, htone_module** out) {
  return Call(make_rms_norm, device, as<normalized_dims>(ndim, normalized_shape), as<norm_settings>(options), out);
}

htone_status htone_module_create_group_norm(htone_device* device, int64_t groups, int64_t channels,
                                            const htone_norm_options* options, htone_module** out) {
  return Call(make_group_norm, device, as<channel_groups>(groups, channels), as<norm_settings>(options), out);
}

htone_status htone_module_create_instance_norm(htone_device* device, int64_t channels,
                                               const htone_norm_options* options, htone_module** out) {
  return Call(make_instance_norm, device, as<channel_shape>(channels), as<norm_settings>(options), out);
}

htone_status htone_module_create_batch_norm1d(htone_device* device, int64_t channels,
                                              const htone_batch_norm_options* options, htone_module** out) {
  return Call(make_batch_norm<2, 3>, device, as<channel_shape>(channels), as<batch_norm_settings>(options), out);
}

htone_status htone_module_create_batch_norm2d(htone_device* device, int64_t channels,
                                              const htone_batch_norm_options* options, htone_module** out) {
  return Call(make_batch_norm<4, 4>, device, as<channel_shape>(channels), as<batch_norm_settings>(options), out);
}
