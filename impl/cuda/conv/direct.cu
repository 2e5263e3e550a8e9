// Convolutions as products whose operands are read out of the images: no patches are stored.
#include "cuda/conv/convolution.h"
#include "cuda/conv/direct.h"
#include "cuda/conv/plan.h"
#include "cuda/conv/weight.h"
#include "cuda/gemm/tiles.h"

namespace halftone::cuda {
namespace {

// The sums of one group: the sizes of their product, and the elements of its operands.
struct Sums {
  int64_t m, n, k;
  Convolution conv;
  int64_t group = 0;

  // `output` and `channel` count within the group.
  template <class C>
  HALFTONE_DEVICE C weight(int64_t output, int64_t channel, const Tap& tap) const {
    return load_image<C>(conv.weight, group * conv.outputs + output, channel, tap.i, tap.j);
  }
  template <class C>
  HALFTONE_DEVICE C output(int64_t channel, const Position& at) const {
    return load_image<C>(conv.output, at.n, group * conv.outputs + channel, at.y, at.x);
  }
};

// Sums for images that are written: rows are positions, the depth runs over taps.
struct ImageSums : Sums {
  HALFTONE_DEVICE bool a_by_depth() const { return false; }
  HALFTONE_DEVICE bool b_by_depth() const { return true; }
};

// Rows are positions of the output, columns its channels, the depth runs over a window.
struct Forward : ImageSums {
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    return input_under<C>(conv, group, position_at(row, conv.rows, conv.columns), tap_at(conv, depth));
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    const Tap tap = tap_at(conv, depth);
    return weight<C>(column, tap.channel, tap);
  }
};

// Rows are positions of the input, columns its channels. The depth runs over the taps of all channels of the output:
// the window whose tap lies on the position, if there is one.
struct GradInput : ImageSums {
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    const Position at = position_at(row, conv.height, conv.width);
    const Tap tap = tap_at(conv, depth);
    Position window;
    return window_over(conv, at, tap, &window) ? output<C>(tap.channel, window) : C{0};
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    const Tap tap = tap_at(conv, depth);
    return weight<C>(tap.channel, column, tap);
  }
};

// Rows are channels of the output, columns the elements of a window, the depth runs over all positions of the output.
struct GradWeight : Sums {
  HALFTONE_DEVICE bool a_by_depth() const { return true; }
  HALFTONE_DEVICE bool b_by_depth() const { return true; }
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    return output<C>(row, position_at(depth, conv.rows, conv.columns));
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    return input_under<C>(conv, group, position_at(depth, conv.rows, conv.columns), tap_at(conv, column));
  }
};

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
  const Sums sums = {
      .m = conv.images * conv.rows * conv.columns, .n = conv.outputs, .k = conv.inputs * conv.taps(), .conv = conv};
  return write_images(stream, Forward{{sums}}, args.output);
}

Status grad_input(Stream& stream, const ConvArgs& args) noexcept {
  const Convolution conv = convolution_of(args);
  const Sums sums = {
      .m = conv.images * conv.height * conv.width, .n = conv.inputs, .k = conv.outputs * conv.taps(), .conv = conv};
  return write_images(stream, GradInput{{sums}}, args.input);
}

template <class C>
Status grad_weight(Stream& stream, const ConvArgs& args, C* parts) noexcept {
  const Convolution conv = convolution_of(args);
  const GradWeight problem = {
      {.m = conv.outputs, .n = conv.inputs * conv.taps(), .k = conv.images * conv.rows * conv.columns, .conv = conv}};
  const WeightParts cut = weight_parts(device_of(stream).multiprocessors, args);
  const int64_t tiles = tiles_of(problem.m, problem.n);
  const int64_t blocks = tiles * conv.groups * cut.count;
  if (blocks > INT32_MAX) return too_large();
  Status status =
      launch(stream, {.blocks = blocks, .threads = kThreads}, weight_kernel<C>, problem, parts, cut.length, tiles);
  return status.ok() ? store_weight(stream, args, parts, cut.count) : status;
}

}  // namespace

size_t direct_workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  if (pass != ConvPass::kGradWeight) return 0;
  const size_t element = args.weight.dtype == DType::kF64 ? sizeof(double) : sizeof(float);
  const int64_t parts = weight_parts(device_of(stream).multiprocessors, args).count;
  return static_cast<size_t>(parts * args.weight.numel()) * element;
}

Status convolve_directly(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept {
  if (pass == ConvPass::kForward) return forward(stream, args);
  if (pass == ConvPass::kGradInput) return grad_input(stream, args);
  return with_float_type(args.weight.dtype,
                         [&]<class C>() { return grad_weight<C>(stream, args, static_cast<C*>(workspace)); });
}

}  // namespace halftone::cuda
