#include "halftone/upsample.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/upsample.h"
#include "ops/pool/pool.h"
#include "ops/resample/upsample.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

int64_t scale_factor(int64_t scale, ArgumentName name) {
  ops::require_result_size(scale, name.text());
  return scale;
}

Tensor resize_nearest1d(const Tensor& input, int64_t, int64_t result_w, bool) {
  return ops::upsample_nearest1d(input, result_w);
}
Tensor resize_nearest2d(const Tensor& input, int64_t result_h, int64_t result_w, bool) {
  return ops::upsample_nearest2d(input, result_h, result_w);
}
Tensor resize_linear1d(const Tensor& input, int64_t, int64_t result_w, bool align_corners) {
  return ops::upsample_linear1d(input, result_w, align_corners);
}

template <Op kind, nn::Upsample::Resize resize>
Ref<nn::Module> make_upsample(int64_t scale_h, int64_t scale_w, bool align_corners) {
  return make_ref<nn::Upsample>(kind, resize, nn::Upsample::Scale{scale_h, scale_w}, align_corners);
}

Ref<nn::Module> make_nearest1d(int64_t scale_w) {
  return make_upsample<Op::kUpsampleNearest1d, resize_nearest1d>(1, scale_w, false);
}
Ref<nn::Module> make_nearest2d(int64_t scale_h, int64_t scale_w) {
  return make_upsample<Op::kUpsampleNearest2d, resize_nearest2d>(scale_h, scale_w, false);
}
Ref<nn::Module> make_linear1d(int64_t scale_w, int32_t align_corners) {
  return make_upsample<Op::kUpsampleLinear1d, resize_linear1d>(1, scale_w, align_corners != 0);
}

}  // namespace

htone_status htone_upsample_nearest1d(htone_tensor* input, int64_t result_w, htone_tensor** out) {
  return Pure(ops::upsample_nearest1d, input, result_w, out);
}

htone_status htone_upsample_nearest2d(htone_tensor* input, int64_t result_h, int64_t result_w, htone_tensor** out) {
  return Pure(ops::upsample_nearest2d, input, result_h, result_w, out);
}

htone_status htone_upsample_linear1d(htone_tensor* input, int64_t result_w, int32_t align_corners, htone_tensor** out) {
  return Pure(ops::upsample_linear1d, input, result_w, align_corners, out);
}

htone_status htone_upsample_bilinear2d(htone_tensor* input, int64_t result_h, int64_t result_w, int32_t align_corners,
                                       htone_tensor** out) {
  return Pure(ops::upsample_bilinear2d, input, result_h, result_w, align_corners, out);
}

htone_status htone_upsample_bicubic2d(htone_tensor* input, int64_t result_h, int64_t result_w, int32_t align_corners,
                                      htone_tensor** out) {
  return Pure(ops::upsample_bicubic2d, input, result_h, result_w, align_corners, out);
}

htone_status htone_module_create_upsample_nearest1d(int64_t scale_w, htone_module** out) {
  return Call(make_nearest1d, as<scale_factor>(scale_w), out);
}

htone_status htone_module_create_upsample_nearest2d(int64_t scale_h, int64_t scale_w, htone_module** out) {
  return Call(make_nearest2d, as<scale_factor>(scale_h), as<scale_factor>(scale_w), out);
}

htone_status htone_module_create_upsample_linear1d(int64_t scale_w, int32_t align_corners, htone_module** out) {
  return Call(make_linear1d, as<scale_factor>(scale_w), align_corners, out);
}

htone_status htone_module_create_upsample_bilinear2d(int64_t scale_h, int64_t scale_w, int32_t align_corners,
                                                     htone_module** out) {
  return Call(make_upsample<Op::kUpsampleBilinear2d, ops::upsample_bilinear2d>, as<scale_factor>(scale_h),
              as<scale_factor>(scale_w), align_corners, out);
}

htone_status htone_module_create_upsample_bicubic2d(int64_t scale_h, int64_t scale_w, int32_t align_corners,
                                                    htone_module** out) {
  return Call(make_upsample<Op::kUpsampleBicubic2d, ops::upsample_bicubic2d>, as<scale_factor>(scale_h),
              as<scale_factor>(scale_w), align_corners, out);
}
