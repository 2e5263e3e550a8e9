#include "cuda/base/launch.h"
#include "cuda/conv/convolution.h"
#include "cuda/conv/weight.h"

namespace halftone::cuda {
namespace {

// Adds the parts in order. One thread for each element of the weight.
template <class C>
HALFTONE_KERNEL add_parts_kernel(Convolution conv, const C* parts, int64_t part_count, int64_t count) {
  const int64_t row = conv.inputs * conv.taps();
  for (int64_t i = first_item(); i < count; i += item_step()) {
    C sum = 0;
    for (int64_t part = 0; part < part_count; ++part) sum += parts[part * count + i];
    const Tap tap = tap_at(conv, i % row);
    const int64_t place = i / row * conv.weight.strides[0] + tap.channel * conv.weight.strides[1] +
                          tap.i * conv.weight.strides[2] + tap.j * conv.weight.strides[3];
    if (conv.adds) sum += load<C>(conv.weight.elements, place);
    store<C>(conv.weight.elements, place, sum);
  }
}

}  // namespace

Status store_weight(Stream& stream, const ConvArgs& args, const void* parts, int64_t count) noexcept {
  const int64_t elements = args.weight.numel();
  return with_float_type(args.weight.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), elements), add_parts_kernel<C>, convolution_of(args),
                  static_cast<const C*>(parts), count, elements);
  });
}

}  // namespace halftone::cuda
