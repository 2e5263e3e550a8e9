// Convolutions as products whose operands are read out of the images: no patches are stored.
#include "cuda/base/element.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/conv/plan.h"
#include "cuda/gemm/tiles.h"

namespace halftone::cuda {
namespace {

// [n, channels, height, width] with any strides.
struct Images {
  Elements elements;
  int64_t strides[4] = {};
};

Images images_of(const View& view) {
  Images images = {.elements = {view.data, view.dtype}};
  for (int d = 0; d < 4; ++d) images.strides[d] = view.strides[d];
  return images;
}

template <class C>
HALFTONE_DEVICE C load_image(const Images& images, int64_t n, int64_t channel, int64_t y, int64_t x) {
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
};

Convolution convolution_of(const ConvArgs& args) {
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
HALFTONE_DEVICE Position position_at(int64_t i, int64_t height, int64_t width) {
  const int64_t row = i / width;
  return {row / height, row % height, i - row * width};
}
struct Tap {
  int64_t channel, i, j;
};
HALFTONE_DEVICE Tap tap_at(const Convolution& conv, int64_t index) {
  const int64_t row = index / conv.kernel_width;
  return {row / conv.kernel_height, row % conv.kernel_height, index - row * conv.kernel_width};
}

// The input's element under a tap of the window at a position of the output; 0 outside of the image.
template <class C>
HALFTONE_DEVICE C input_under(const Convolution& conv, int64_t group, const Position& at, const Tap& tap) {
  const int64_t y = at.y * conv.window.stride[0] + tap.i * conv.window.dilation[0] - conv.window.padding[0];
  const int64_t x = at.x * conv.window.stride[1] + tap.j * conv.window.dilation[1] - conv.window.padding[1];
  if (y < 0 || y >= conv.height || x < 0 || x >= conv.width) return C{0};
  return load_image<C>(conv.input, at.n, group * conv.inputs + tap.channel, y, x);
}

// Rows are positions of the output, columns its channels, the depth runs over a window.
struct Forward {
  int64_t m, n, k;
  Convolution conv;
  int64_t group;

  HALFTONE_DEVICE bool a_by_depth() const { return false; }
  HALFTONE_DEVICE bool b_by_depth() const { return true; }
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    return input_under<C>(conv, group, position_at(row, conv.rows, conv.columns), tap_at(conv, depth));
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    const Tap tap = tap_at(conv, depth);
    return load_image<C>(conv.weight, group * conv.outputs + column, tap.channel, tap.i, tap.j);
  }
};

// Rows are positions of the input, columns its channels. The depth runs over the taps of all channels of the output:
// the window whose tap lies on the position, if there is one.
struct GradInput {
  int64_t m, n, k;
  Convolution conv;
  int64_t group;

  HALFTONE_DEVICE bool a_by_depth() const { return false; }
  HALFTONE_DEVICE bool b_by_depth() const { return true; }
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    const Position at = position_at(row, conv.height, conv.width);
    const Tap tap = tap_at(conv, depth);
    const int64_t y = at.y + conv.window.padding[0] - tap.i * conv.window.dilation[0];
    const int64_t x = at.x + conv.window.padding[1] - tap.j * conv.window.dilation[1];
    if (y < 0 || x < 0 || y % conv.window.stride[0] != 0 || x % conv.window.stride[1] != 0) return C{0};
    const int64_t row_of_output = y / conv.window.stride[0];
    const int64_t column_of_output = x / conv.window.stride[1];
    if (row_of_output >= conv.rows || column_of_output >= conv.columns) return C{0};
    return load_image<C>(conv.output, at.n, group * conv.outputs + tap.channel, row_of_output, column_of_output);
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    const Tap tap = tap_at(conv, depth);
    return load_image<C>(conv.weight, group * conv.outputs + tap.channel, column, tap.i, tap.j);
  }
};

// Rows are channels of the output, columns the elements of a window, the depth runs over all positions of the output.
struct GradWeight {
  int64_t m, n, k;
  Convolution conv;
  int64_t group;

  HALFTONE_DEVICE bool a_by_depth() const { return true; }
  HALFTONE_DEVICE bool b_by_depth() const { return true; }
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    const Position at = position_at(depth, conv.rows, conv.columns);
    return load_image<C>(conv.output, at.n, group * conv.outputs + row, at.y, at.x);
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    return input_under<C>(conv, group, position_at(depth, conv.rows, conv.columns), tap_at(conv, column));
  }
};

template <class C>
HALFTONE_DEVICE C bias_of(const Convolution& conv, int64_t channel) {
  return conv.bias.data != nullptr ? load<C>(conv.bias, channel * conv.bias_stride) : C{0};
}

// Block: a tile of a group's product. Images that are written are contiguous.
template <class C, class P>
HALFTONE_KERNEL images_kernel(P problem, Images out, int64_t plane, int64_t tiles) {
  problem.group = blockIdx.x / tiles;
  multiply_tile<C>(problem, blockIdx.x % tiles, 0, problem.k, [&](int64_t row, int64_t column, C sum) {
    const int64_t channel = problem.group * problem.n + column;
    const int64_t place = row / plane * (problem.conv.groups * problem.n * plane) + channel * plane + row % plane;
    store<C>(out.elements, place, sum + bias_of<C>(problem.conv, channel));
  });
}

// Block: a tile of a part of a group's sums. parts: [parts, groups, m, n].
template <class C>
HALFTONE_KERNEL weight_kernel(GradWeight problem, C* parts, int64_t length, int64_t tiles) {
  const int64_t part = blockIdx.x / (problem.conv.groups * tiles);
  problem.group = blockIdx.x / tiles % problem.conv.groups;
  const int64_t begin = part * length;
  const int64_t end = begin + length < problem.k ? begin + length : problem.k;
  C* const out = parts + (part * problem.conv.groups + problem.group) * problem.m * problem.n;
  multiply_tile<C>(problem, blockIdx.x % tiles, begin, end,
                   [&](int64_t row, int64_t column, C sum) { out[row * problem.n + column] = sum; });
}

// Adds the parts in order. One thread for each element of the weight.
template <class C>
HALFTONE_KERNEL add_parts_kernel(Convolution conv, const C* parts, int64_t part_count, int64_t count) {
  const int64_t window = conv.kernel_height * conv.kernel_width;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    C sum = 0;
    for (int64_t part = 0; part < part_count; ++part) sum += parts[part * count + i];
    const Tap tap = tap_at(conv, i % (conv.inputs * window));
    const int64_t place = i / (conv.inputs * window) * conv.weight.strides[0] + tap.channel * conv.weight.strides[1] +
                          tap.i * conv.weight.strides[2] + tap.j * conv.weight.strides[3];
    if (conv.adds) sum += load<C>(conv.weight.elements, place);
    store<C>(conv.weight.elements, place, sum);
  }
}

Status too_large() { return Status::failure(Code::kUnsupported, "a convolution has more than 2^31 - 1 tiles"); }

// `height` and `width` are those of the images that are written.
template <class P>
Status write_images(Stream& stream, P problem, const View& out) noexcept {
  const int64_t tiles = tiles_of(problem.m, problem.n);
  const int64_t blocks = tiles * problem.conv.groups;
  if (blocks > INT32_MAX) return too_large();
  return with_float_type(out.dtype, [&]<class C>() {
    return launch(stream, {.blocks = blocks, .threads = kThreads}, images_kernel<C, P>, problem, images_of(out),
                  out.shape[2] * out.shape[3], tiles);
  });
}

Status forward(Stream& stream, const ConvArgs& args) noexcept {
  const Convolution conv = convolution_of(args);
  const int64_t window = conv.kernel_height * conv.kernel_width;
  return write_images(stream,
                      Forward{.m = conv.images * conv.rows * conv.columns,
                              .n = conv.outputs,
                              .k = conv.inputs * window,
                              .conv = conv,
                              .group = 0},
                      args.output);
}

Status grad_input(Stream& stream, const ConvArgs& args) noexcept {
  const Convolution conv = convolution_of(args);
  const int64_t window = conv.kernel_height * conv.kernel_width;
  return write_images(stream,
                      GradInput{.m = conv.images * conv.height * conv.width,
                                .n = conv.inputs,
                                .k = conv.outputs * window,
                                .conv = conv,
                                .group = 0},
                      args.input);
}

template <class C>
Status grad_weight(Stream& stream, const ConvArgs& args, C* parts) noexcept {
  const Convolution conv = convolution_of(args);
  const GradWeight problem = {.m = conv.outputs,
                              .n = conv.inputs * conv.kernel_height * conv.kernel_width,
                              .k = conv.images * conv.rows * conv.columns,
                              .conv = conv,
                              .group = 0};
  const WeightParts cut = weight_parts(device_of(stream).multiprocessors, args);
  const int64_t tiles = tiles_of(problem.m, problem.n);
  const int64_t blocks = tiles * conv.groups * cut.count;
  if (blocks > INT32_MAX) return too_large();
  Status status =
      launch(stream, {.blocks = blocks, .threads = kThreads}, weight_kernel<C>, problem, parts, cut.length, tiles);
  if (!status.ok()) return status;
  const int64_t count = args.weight.numel();
  return launch(stream, grid_for_items(device_of(stream), count), add_parts_kernel<C>, conv,
                static_cast<const C*>(parts), cut.count, count);
}

size_t workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  if (pass != ConvPass::kGradWeight) return 0;
  const size_t element = args.weight.dtype == DType::kF64 ? sizeof(double) : sizeof(float);
  const int64_t parts = weight_parts(device_of(stream).multiprocessors, args).count;
  return static_cast<size_t>(parts * args.weight.numel()) * element;
}

Status run(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept {
  if (pass == ConvPass::kForward) return forward(stream, args);
  if (pass == ConvPass::kGradInput) return grad_input(stream, args);
  return with_float_type(args.weight.dtype,
                         [&]<class C>() { return grad_weight<C>(stream, args, static_cast<C*>(workspace)); });
}

}  // namespace

const ConvKernels kConvKernels = {
    .workspace = workspace,
    .run = run,
};

}  // namespace halftone::cuda
