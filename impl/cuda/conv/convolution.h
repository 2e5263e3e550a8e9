// A convolution as kernels take it: its images, and the places under and over its windows. Device code.
#pragma once

#include "backend/kernels/conv.h"
#include "cuda/base/element.h"

namespace halftone::cuda {

// [n, channels, height, width] with any strides.
struct Images {
  Elements elements;
  int64_t strides[4] = {};
};

inline Images images_of(const View& view) {
  Images images = {.elements = {view.data, view.dtype}};
  for (int d = 0; d < 4; ++d) images.strides[d] = view.strides[d];
  return images;
}

template <class C>
HALFTONE_DEVICE inline C load_image(const Images& images, int64_t n, int64_t channel, int64_t y, int64_t x) {
  return load<C>(images.elements,
                 n * images.strides[0] + channel * images.strides[1] + y * images.strides[2] + x * images.strides[3]);
}

// Sizes: a group has `inputs` channels of input and `outputs` of output.
struct Convolution {
  Images input, weight, output;
  Elements bias;
  int64_t bias_stride;
  int64_t groups, inputs, outputs;
  int64_t images;
  int64_t height, width;  // of input
  int64_t rows, columns;  // of output
  int64_t kernel_height, kernel_width;
  ConvWindow window;
  bool adds;

  constexpr int64_t taps() const { return kernel_height * kernel_width; }  // of a channel
};

inline Convolution convolution_of(const ConvArgs& args) {
  return {.input = images_of(args.input),
          .weight = images_of(args.weight),
          .output = images_of(args.output),
          .bias = {args.bias.data, args.bias.dtype},
          .bias_stride = args.bias.data != nullptr ? args.bias.strides[0] : 0,
          .groups = args.groups,
          .inputs = args.weight.shape[1],
          .outputs = args.weight.shape[0] / args.groups,
          .images = args.input.shape[0],
          .height = args.input.shape[2],
          .width = args.input.shape[3],
          .rows = args.output.shape[2],
          .columns = args.output.shape[3],
          .kernel_height = args.weight.shape[2],
          .kernel_width = args.weight.shape[3],
          .window = args.window,
          .adds = args.store == Store::kAdd};
}

// A place in a stack of images, and an element of a window with its channel.
struct Position {
  int64_t n, y, x;
};
HALFTONE_DEVICE inline Position position_at(int64_t i, int64_t height, int64_t width) {
  const int64_t row = i / width;
  return {row / height, row % height, i - row * width};
}
struct Tap {
  int64_t channel, i, j;
};
HALFTONE_DEVICE inline Tap tap_at(const Convolution& conv, int64_t index) {
  const int64_t row = index / conv.kernel_width;
  return {row / conv.kernel_height, row % conv.kernel_height, index - row * conv.kernel_width};
}

// The input's element under a tap of the window at a position of the output; 0 outside of the image.
template <class C>
HALFTONE_DEVICE inline C input_under(const Convolution& conv, int64_t group, const Position& at, const Tap& tap) {
  const int64_t y = at.y * conv.window.stride[0] + tap.i * conv.window.dilation[0] - conv.window.padding[0];
  const int64_t x = at.x * conv.window.stride[1] + tap.j * conv.window.dilation[1] - conv.window.padding[1];
  if (y < 0 || y >= conv.height || x < 0 || x >= conv.width) return C{0};
  return load_image<C>(conv.input, at.n, group * conv.inputs + tap.channel, y, x);
}

// The window whose tap lies on a position of the input; false if there is none.
HALFTONE_DEVICE inline bool window_over(const Convolution& conv, const Position& at, const Tap& tap, Position* out) {
  const int64_t y = at.y + conv.window.padding[0] - tap.i * conv.window.dilation[0];
  const int64_t x = at.x + conv.window.padding[1] - tap.j * conv.window.dilation[1];
  if (y < 0 || x < 0 || y % conv.window.stride[0] != 0 || x % conv.window.stride[1] != 0) return false;
  *out = {at.n, y / conv.window.stride[0], x / conv.window.stride[1]};
  return out->y < conv.rows && out->x < conv.columns;
}

template <class C>
HALFTONE_DEVICE inline C bias_of(const Convolution& conv, int64_t channel) {
  return conv.bias.data != nullptr ? load<C>(conv.bias, channel * conv.bias_stride) : C{0};
}

}  // namespace halftone::cuda
