#include "cuda/base/launch.h"
#include "cuda/conv/columns.h"

namespace halftone::cuda {
namespace {

// Elements of a row of columns that one block copies.
constexpr int64_t kChunk = int64_t{4} * kThreads;

// Block: a chunk of one row, so that all its threads have the same tap.
template <class C>
HALFTONE_KERNEL gather_kernel(Convolution conv, Positions positions, Elements columns, int64_t chunks, int64_t blocks) {
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t row = block / chunks;
    const int64_t begin = block % chunks * kChunk;
    const int64_t end = begin + kChunk < positions.count ? begin + kChunk : positions.count;
    const Tap tap = tap_at(conv, row);
    for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
      const Position at = position_at(positions.first + i, conv.rows, conv.columns);
      store<C>(columns, row * positions.count + i, input_under<C>(conv, 0, at, tap));
    }
  }
}

// The sum for one element of a channel, over the taps in order.
template <class C>
HALFTONE_DEVICE C sum_over(const Convolution& conv, const Positions& positions, const Position& at, int64_t channel,
                           const C* columns) {
  C sum = 0;
  for (int64_t t = 0; t < conv.taps(); ++t) {
    const Tap tap = {channel, t / conv.kernel_width, t % conv.kernel_width};
    Position window;
    if (!window_over(conv, at, tap, &window)) continue;
    const int64_t position = (window.n * conv.rows + window.y) * conv.columns + window.x;
    sum += columns[(channel * conv.taps() + t) * positions.count + position - positions.first];
  }
  return sum;
}

// Thread: one element of the images, `elements` of which lie in each channel.
template <class C>
HALFTONE_KERNEL add_kernel(Convolution conv, Positions positions, Positions elements, const C* columns) {
  const int64_t channels = conv.groups * conv.inputs;
  const int64_t plane = conv.height * conv.width;
  for (int64_t i = first_item(); i < channels * elements.count; i += item_step()) {
    const int64_t channel = i / elements.count;
    const int64_t place = elements.first + i % elements.count;
    const Position at = position_at(place, conv.height, conv.width);
    const C sum = sum_over(conv, positions, at, channel, columns) + bias_of<C>(conv, channel);
    store<C>(conv.input.elements, (at.n * channels + channel) * plane + place - at.n * plane, sum);
  }
}

}  // namespace

Convolution elements_of_output(const Convolution& conv) {
  Convolution elements = conv;
  elements.input = conv.output;
  elements.inputs = conv.outputs;
  elements.height = conv.rows;
  elements.width = conv.columns;
  elements.kernel_height = 1;
  elements.kernel_width = 1;
  elements.window = {};
  return elements;
}

Status gather_columns(Stream& stream, const Convolution& conv, const Positions& positions, void* columns) noexcept {
  const DType dtype = conv.input.elements.dtype;
  const int64_t chunks = (positions.count + kChunk - 1) / kChunk;
  const int64_t blocks = conv.groups * conv.inputs * conv.taps() * chunks;
  return with_float_type(dtype, [&]<class C>() {
    return launch(stream, grid_for_rows(blocks, kThreads), gather_kernel<C>, conv, positions, Elements{columns, dtype},
                  chunks, blocks);
  });
}

Status add_columns(Stream& stream, const Convolution& conv, const Positions& positions, const void* columns) noexcept {
  const int64_t plane_of_output = conv.rows * conv.columns;
  const int64_t plane = conv.height * conv.width;
  Positions elements = positions;
  if (plane != plane_of_output) {
    elements = {positions.first / plane_of_output * plane, positions.count / plane_of_output * plane};
  }
  const int64_t count = conv.groups * conv.inputs * elements.count;
  return with_float_type(conv.input.elements.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), count), add_kernel<C>, conv, positions, elements,
                  static_cast<const C*>(columns));
  });
}

}  // namespace halftone::cuda
