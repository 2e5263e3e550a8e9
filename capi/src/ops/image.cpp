#include "halftone/image.h"

#include "base/call.h"
#include "ops/image/image.h"
#include "ops/padding.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

ops::FoldOptions fold_options(int64_t kernel_h, int64_t kernel_w, const htone_unfold_options* options) {
  const htone_unfold_options settings = options_or_default(options, htone_unfold_options(HTONE_UNFOLD_OPTIONS_INIT));
  const ops::FoldOptions converted = {.kernel = {kernel_h, kernel_w},
                                      .window = {.stride = {settings.stride_h, settings.stride_w},
                                                 .padding = {settings.padding_h, settings.padding_w},
                                                 .dilation = {settings.dilation_h, settings.dilation_w}}};
  ops::require_fold_options(converted);
  return converted;
}

using Pad = Tensor (*)(const Tensor&, const ops::Padding&);

template <Pad pad>
Tensor padded(const Tensor& input, int32_t pair_count, const int64_t* padding) {
  return pad(input, checked_padding(input, pair_count, padding));
}

}  // namespace

htone_status htone_pixel_shuffle(htone_tensor* input, int64_t upscale_factor, htone_tensor** out) {
  return Pure(ops::pixel_shuffle, input, as<positive>(upscale_factor), out);
}

htone_status htone_pixel_unshuffle(htone_tensor* input, int64_t downscale_factor, htone_tensor** out) {
  return Pure(ops::pixel_unshuffle, input, as<positive>(downscale_factor), out);
}

htone_status htone_pad_reflect(htone_tensor* input, int32_t pair_count, const int64_t* padding, htone_tensor** out) {
  return Pure(padded<ops::pad_reflect>, input, pair_count, padding, out);
}

htone_status htone_pad_replicate(htone_tensor* input, int32_t pair_count, const int64_t* padding, htone_tensor** out) {
  return Pure(padded<ops::pad_replicate>, input, pair_count, padding, out);
}

htone_status htone_pad_circular(htone_tensor* input, int32_t pair_count, const int64_t* padding, htone_tensor** out) {
  return Pure(padded<ops::pad_circular>, input, pair_count, padding, out);
}

htone_status htone_unfold(htone_tensor* input, int64_t kernel_h, int64_t kernel_w, const htone_unfold_options* options,
                          htone_tensor** out) {
  return Pure(ops::unfold, input, as<fold_options>(kernel_h, kernel_w, options), out);
}

htone_status htone_fold(htone_tensor* input, int64_t height, int64_t width, int64_t kernel_h, int64_t kernel_w,
                        const htone_unfold_options* options, htone_tensor** out) {
  return Pure(ops::fold, input, as<positive>(height), as<positive>(width),
              as<fold_options>(kernel_h, kernel_w, options), out);
}
