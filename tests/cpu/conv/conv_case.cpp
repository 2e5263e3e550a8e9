#include "cpu/conv/conv_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

int64_t output_size(const ConvShape& shape, int dim) {
  const ConvWindow& window = shape.window;
  const int64_t reach = window.dilation[dim] * (shape.kernel[dim] - 1) + 1;
  return (shape.size[dim] + 2 * window.padding[dim] - reach) / window.stride[dim] + 1;
}

Shape image_shape(const ConvShape& shape, bool output) {
  if (!output) return {shape.images, shape.channels, shape.size[0], shape.size[1]};
  return {shape.images, shape.filters, output_size(shape, 0), output_size(shape, 1)};
}

Shape strides_of(ImageOrder order, const Shape& shape) {
  switch (order) {
    case ImageOrder::kChannelsFirst:
      return contiguous_strides(shape);
    case ImageOrder::kChannelsLast:
      return {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
    case ImageOrder::kGaps: {
      const int64_t row = 2 * shape[3] + 3;
      return {shape[1] * (shape[2] * row + 1) + 5, shape[2] * row + 1, row, 2};
    }
  }
  return {};
}

DType result_dtype(DType dtype, const ConvExtras& extras) { return dtype == DType::kF64 ? dtype : extras.result; }

// An output is contiguous, unless it is the gradient of the weights.
HostTensor image(const ConvShape& shape, bool output, bool is_written, DType dtype, ImageOrder order,
                 const ConvExtras& extras) {
  const Shape sizes = image_shape(shape, output);
  if (is_written) return HostTensor(result_dtype(dtype, extras), sizes);
  return HostTensor(dtype, sizes, strides_of(order, sizes));
}

HostTensor weights(const ConvShape& shape, bool is_written, DType dtype, ImageOrder order, const ConvExtras& extras) {
  const Shape sizes = {shape.filters, shape.channels / shape.groups, shape.kernel[0], shape.kernel[1]};
  if (!is_written) return HostTensor(dtype, sizes);
  return HostTensor(result_dtype(dtype, extras), sizes, strides_of(order, sizes));
}

double unit_of(DType dtype) {
  if (dtype == DType::kF64) return 0x1p-53;
  if (dtype == DType::kF32) return 0x1p-24;
  return dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
}

}  // namespace

void ConvCase::Sum::add(double term) {
  value += term;
  magnitude += std::fabs(term);
  terms += 1;
}

ConvCase::ConvCase(const ConvShape& shape, ConvPass pass, DType dtype, ImageOrder order, const ConvExtras& extras)
    : shape_(shape),
      pass_(pass),
      extras_(extras),
      input_(image(shape, false, pass == ConvPass::kGradInput, dtype, order, extras)),
      weight_(weights(shape, pass == ConvPass::kGradWeight, dtype, order, extras)),
      output_(image(shape, true, pass == ConvPass::kForward, dtype, order, extras)),
      bias_(dtype, {pass == ConvPass::kForward ? shape.filters : shape.channels}, {2}) {
  input_.fill_uniform(-1, 1, 1);
  weight_.fill_uniform(-1, 1, 2);
  output_.fill_uniform(-1, 1, 3);
  bias_.fill_uniform(-1, 1, 4);
  for (int64_t i = 0; i < result().numel(); ++i) before_.push_back(result().get(i));
  args_ = {.input = input_.view(),
           .weight = weight_.view(),
           .output = output_.view(),
           .bias = extras.bias ? bias_.view() : View{},
           .window = shape.window,
           .groups = shape.groups,
           .store = extras.store};
}

const HostTensor& ConvCase::result() const {
  if (pass_ == ConvPass::kForward) return output_;
  return pass_ == ConvPass::kGradInput ? input_ : weight_;
}

void ConvCase::run(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool, &options_);
  const size_t size = cpu::kConvKernels.workspace(stream, pass_, args_);
  const std::vector<std::byte> guard(64, std::byte{0x5a});
  // All floats of the workspace start as NaN, so a read before a write shows in the result.
  std::vector<std::byte> memory(size + 64 + 2 * guard.size(), std::byte{0xff});
  void* data = memory.data() + guard.size();
  size_t space = memory.size() - guard.size();
  std::byte* workspace = static_cast<std::byte*>(std::align(64, size, data, space));
  std::memcpy(workspace - guard.size(), guard.data(), guard.size());
  std::memcpy(workspace + size, guard.data(), guard.size());
  EXPECT_TRUE(cpu::kConvKernels.run(stream, pass_, args_, workspace).ok());
  EXPECT_EQ(std::memcmp(workspace - guard.size(), guard.data(), guard.size()), 0) << "before the workspace";
  EXPECT_EQ(std::memcmp(workspace + size, guard.data(), guard.size()), 0) << "behind the workspace";
}

// Visits each product of an input element and a weight with its output element, in every pass.
std::vector<ConvCase::Sum> ConvCase::expected() const {
  std::vector<Sum> sums(static_cast<size_t>(result().numel()));
  const Shape in = input_.view().shape;
  const Shape out = output_.view().shape;
  const Shape kernel = weight_.view().shape;
  const int64_t group_filters = shape_.filters / shape_.groups;
  const auto visit = [&](int64_t o, int64_t i, int64_t w) {
    if (pass_ == ConvPass::kForward) sums[static_cast<size_t>(o)].add(input_.get(i) * weight_.get(w));
    if (pass_ == ConvPass::kGradInput) sums[static_cast<size_t>(i)].add(output_.get(o) * weight_.get(w));
    if (pass_ == ConvPass::kGradWeight) sums[static_cast<size_t>(w)].add(output_.get(o) * input_.get(i));
  };
  for (int64_t o = 0; o < output_.numel(); ++o) {
    const int64_t x = o % out[3];
    const int64_t y = o / out[3] % out[2];
    const int64_t filter = o / out[3] / out[2] % out[1];
    const int64_t n = o / out[3] / out[2] / out[1];
    for (int64_t tap = 0; tap < kernel[1] * kernel[2] * kernel[3]; ++tap) {
      const int64_t channel = filter / group_filters * kernel[1] + tap / kernel[3] / kernel[2];
      const ConvWindow& window = shape_.window;
      const int64_t iy = y * window.stride[0] + tap / kernel[3] % kernel[2] * window.dilation[0] - window.padding[0];
      const int64_t ix = x * window.stride[1] + tap % kernel[3] * window.dilation[1] - window.padding[1];
      if (iy < 0 || iy >= in[2] || ix < 0 || ix >= in[3]) continue;
      visit(o, ((n * in[1] + channel) * in[2] + iy) * in[3] + ix, filter * kernel[1] * kernel[2] * kernel[3] + tap);
    }
  }
  return sums;
}

// The bound is that of a matrix product (gemm_case.cpp): two roundings per term, then one to the result's dtype.
void ConvCase::expect_right() const {
  const std::vector<Sum> sums = expected();
  const HostTensor& actual = result();
  const DType dtype = actual.view().dtype;
  const Shape& sizes = actual.view().shape;
  int64_t wrong = 0;
  for (int64_t i = 0; i < actual.numel() && wrong < 5; ++i) {
    Sum sum = sums[static_cast<size_t>(i)];
    if (extras_.bias) sum.add(bias_.get(i / (sizes[2] * sizes[3]) % sizes[1]));
    if (extras_.store == Store::kAdd) sum.add(before_[static_cast<size_t>(i)]);
    const double unit = unit_of(dtype == DType::kF64 ? DType::kF64 : DType::kF32);
    const double sum_error = (2 * sum.terms + 16) * unit * sum.magnitude;
    const double smallest = dtype == DType::kF16 ? 0x1p-25 : 0;
    const double bound = sum_error + unit_of(dtype) * (std::fabs(sum.value) + sum_error) + smallest;
    if (std::fabs(actual.get(i) - sum.value) <= bound) continue;
    ++wrong;
    ADD_FAILURE() << "element " << i << " of " << actual.numel() << " is " << actual.get(i) << ", wanted " << sum.value
                  << " +- " << bound;
  }
  EXPECT_TRUE(input_.guards_hold() && weight_.guards_hold() && output_.guards_hold());
}

}  // namespace halftone
