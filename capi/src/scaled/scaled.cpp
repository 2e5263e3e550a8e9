#include "halftone/scaled.h"

#include "base/call.h"
#include "nn/state_dict_handle.h"
#include "ops/shape/shape.h"
#include "scaled/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int>(ops::ScaleLayout::kTensor) == HTONE_SCALE_LAYOUT_TENSOR);
static_assert(static_cast<int>(ops::ScaleLayout::kRow) == HTONE_SCALE_LAYOUT_ROW);
static_assert(static_cast<int>(ops::ScaleLayout::kBlock1x128) == HTONE_SCALE_LAYOUT_BLOCK_1X128);
static_assert(static_cast<int>(ops::ScaleLayout::kBlock128x128) == HTONE_SCALE_LAYOUT_BLOCK_128X128);
static_assert(static_cast<int>(ops::ScaleLayout::kMx1x32) == HTONE_SCALE_LAYOUT_MX_1X32);
static_assert(static_cast<int>(ops::ScaleLayout::kNv1x16) == HTONE_SCALE_LAYOUT_NV_1X16);
static_assert(static_cast<int>(ops::ScaleLayout::kNv16x16) == HTONE_SCALE_LAYOUT_NV_16X16);

namespace {

using ops::ShapedScaled;

Ref<SharedScaled> shared_scaled(ShapedScaled value) { return make_ref<SharedScaled>(std::move(value)); }

htone_scaled_options checked_scaled_options(const htone_scaled_options* options) {
  const auto given = options_or_default(options, htone_scaled_options(HTONE_SCALED_OPTIONS_INIT));
  if (given.reserved == 0) return given;
  fail(Code::kUnsupported, "options", "options.reserved=%u, expected 0", given.reserved);
}

Ref<SharedScaled> create(const Tensor& x, const htone_scaled_options& options, const Tensor& scale,
                         const Tensor& amax) {
  if (x.rank() == 0) fail(Code::kShapeMismatch, "x", "x [] has 0 dimensions, expected 1 or more");
  const Tensor matrix = ops::reshape(x.detach(), ops::matrix_shape(x.shape()));
  const ops::ScaleOptions settings = {.layout = static_cast<ops::ScaleLayout>(options.layout),
                                      .format = static_cast<NumberFormat>(options.format),
                                      .scale_rounds_up = options.scale_rounds_up != 0,
                                      .stochastic = options.stochastic != 0,
                                      .key = {.seed = options.seed, .sequence = options.sequence},
                                      .scale = scale,
                                      .amax = amax};
  return shared_scaled({ops::to_scaled(matrix, settings), x.shape()});
}

Tensor dequantize(const ShapedScaled& value, DType dtype) {
  const Tensor matrix = ops::from_scaled(value.scaled, dtype);
  return matrix.as_strided(value.shape, contiguous_strides(value.shape), 0);
}

// A tensor of the caller's, apart from the one inside.
Tensor scales(const ShapedScaled& value) { return value.scaled.scales.detach(); }

Tensor tensor_scale(const ShapedScaled& value) {
  if (value.scaled.tensor_scale.defined()) return value.scaled.tensor_scale.detach();
  fail(Code::kInvalidArgument, "scaled", "layout=%d has no scale of the tensor beside those of its blocks",
       static_cast<int>(value.scaled.layout));
}

}  // namespace

htone_status htone_scaled_create(htone_tensor* x, const htone_scaled_options* options, htone_tensor* scale,
                                 htone_tensor* amax, htone_scaled** out) {
  return Call(create, x, as<checked_scaled_options>(options), optional(scale), optional(amax), out);
}

htone_status htone_scaled_dequantize(htone_scaled* scaled, htone_dtype dtype, htone_tensor** out) {
  return Call(dequantize, scaled, as<checked_dtype>(dtype), out);
}

htone_status htone_scaled_codes(htone_scaled* scaled, htone_tensor** out) {
  return Call(ops::shaped_codes, scaled, out);
}

htone_status htone_scaled_scales(htone_scaled* scaled, htone_tensor** out) { return Call(scales, scaled, out); }

htone_status htone_scaled_tensor_scale(htone_scaled* scaled, htone_tensor** out) {
  return Call(tensor_scale, scaled, out);
}

htone_status htone_scaled_layout(htone_scaled* scaled, htone_scale_layout* out_layout) {
  return Call([](const ShapedScaled& value) { return static_cast<int32_t>(value.scaled.layout); }, scaled, out_layout);
}

htone_status htone_scaled_format(htone_scaled* scaled, htone_format* out_format) {
  return Call([](const ShapedScaled& value) { return static_cast<int32_t>(value.scaled.format); }, scaled, out_format);
}

htone_status htone_scaled_shape(htone_scaled* scaled, int64_t* out_shape, int32_t capacity, int32_t* out_ndim) {
  return Call([](const ShapedScaled& value) { return value.shape; }, scaled, sizes(out_shape, capacity, out_ndim));
}

htone_status htone_scaled_save(htone_scaled* scaled, htone_state_dict* state_dict, const char* name) {
  return Call([](const ShapedScaled& value, const Ref<SharedStateDict>& state,
                 const char* lead) { ops::save_scaled(value, lead, *state); },
              scaled, shared(state_dict), as<checked_name>(name));
}

htone_status htone_scaled_load(htone_state_dict* state_dict, const char* name, htone_scaled** out) {
  return Call(
      [](const Ref<SharedStateDict>& state, const char* lead) { return shared_scaled(ops::load_scaled(*state, lead)); },
      shared(state_dict), as<checked_name>(name), out);
}
