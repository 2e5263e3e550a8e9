#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

struct PoolShape {
  int64_t images;
  int64_t channels;
  int64_t size[2];
  int64_t kernel[2];
  ConvWindow window;
  int64_t cut[2] = {0, 0};  // additional windows at the end that extend beyond the padding
};

// Rows longer than the blocks of the kernels (256 positions, 512 columns), windows wider than a block, and many planes.
const PoolShape kShapes[] = {
    {1, 1, {1, 1}, {1, 1}, {}},
    {0, 2, {4, 4}, {2, 2}, {{2, 2}, {0, 0}, {1, 1}}},
    {2, 3, {5, 7}, {2, 3}, {{2, 1}, {1, 1}, {1, 1}}},
    {3, 2, {6, 5}, {3, 3}, {{1, 2}, {1, 0}, {1, 1}}},
    {1, 2, {3, 1100}, {2, 5}, {{1, 2}, {0, 2}, {1, 1}}},
    {1, 1, {2, 1500}, {2, 700}, {{1, 300}, {0, 10}, {1, 1}}},
    {40, 33, {4, 4}, {2, 2}, {{2, 2}, {0, 0}, {1, 1}}},
    {2, 3, {6, 7}, {3, 4}, {{2, 3}, {1, 2}, {1, 1}}, {1, 1}},
    // Rows of every length from few positions to more than two vectors, with windows at the edges that leave the image.
    {2, 2, {5, 6}, {2, 2}, {{2, 2}, {0, 0}, {1, 1}}},
    {2, 2, {7, 9}, {2, 2}, {{2, 2}, {1, 1}, {1, 1}}},
    {1, 3, {5, 31}, {2, 2}, {{2, 2}, {0, 0}, {1, 1}}, {1, 1}},
    {1, 2, {4, 32}, {2, 2}, {{2, 2}, {1, 1}, {1, 1}}},
    {1, 1, {3, 71}, {2, 2}, {{2, 2}, {0, 1}, {1, 1}}},
    {2, 2, {9, 35}, {3, 3}, {{2, 2}, {1, 1}, {1, 1}}},
    {2, 2, {5, 13}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}}},
    {1, 2, {6, 40}, {3, 3}, {{3, 3}, {0, 0}, {1, 1}}},
    {1, 1, {6, 37}, {5, 4}, {{2, 2}, {2, 1}, {1, 1}}, {0, 1}},
    {1, 1, {7, 22}, {7, 7}, {{1, 1}, {3, 3}, {1, 1}}},
    // Kernels larger than the image, and windows further apart than it is long.
    {2, 3, {5, 6}, {40, 30}, {{3, 9}, {20, 15}, {1, 1}}, {1, 1}},
    {1, 2, {7, 4}, {90, 101}, {{9, 1}, {45, 50}, {1, 1}}, {1, 0}},
};
const PoolShape kDilated = {2, 3, {9, 11}, {3, 2}, {{1, 2}, {2, 1}, {2, 4}}};
const PoolShape kDilatedRows = {1, 3, {9, 41}, {3, 4}, {{1, 1}, {2, 1}, {2, 3}}};
const PoolShape kDilatedBeyond = {2, 3, {5, 6}, {30, 20}, {{2, 7}, {43, 37}, {3, 4}}, {1, 1}};
// All elements of the windows are in the padding or beyond it.
const PoolShape kEmpty = {1, 2, {2, 2}, {1, 2}, {{1, 3}, {0, 1}, {1, 5}}, {0, 1}};

Shape strides_of(const Shape& shape, bool has_gaps) {
  if (!has_gaps) return contiguous_strides(shape);
  // every second element
  return {shape[1] * (2 * shape[2] * shape[3] + 7), 2 * shape[2] * shape[3] + 7, 2 * shape[3], 2};
}

int64_t positions(const PoolShape& shape, int dim) {
  const ConvWindow& window = shape.window;
  const int64_t reach = window.dilation[dim] * (shape.kernel[dim] - 1) + 1;
  return (shape.size[dim] + 2 * window.padding[dim] - reach) / window.stride[dim] + 1 + shape.cut[dim];
}

// One pooling and its gradient.
class PoolCase {
 public:
  PoolCase(const PoolShape& shape, DType dtype, bool has_gaps = false)
      : shape_(shape),
        rows_(positions(shape, 0)),
        columns_(positions(shape, 1)),
        input_(dtype, {shape.images, shape.channels, shape.size[0], shape.size[1]},
               strides_of({shape.images, shape.channels, shape.size[0], shape.size[1]}, has_gaps)),
        output_(dtype, {shape.images, shape.channels, rows_, columns_}),
        indices_(DType::kI32, output_.view().shape),
        gradient_(dtype == DType::kF64 ? dtype : DType::kF32, input_.view().shape) {
    input_.fill_uniform(-1, 1, 1);
    // Few different values, so that maxima are often tied.
    for (int64_t i = 0; i < input_.numel(); ++i) input_.set(i, std::round(input_.get(i) * 8) / 8);
  }

  HostTensor& input() { return input_; }

  void run_max(int threads) {
    take_maxima(threads);
    check_max();
    output_.fill_uniform(-1, 1, 2);
    for (int64_t i = 0; i < output_.numel(); i += 5) output_.set(i, -0.0);
    run(threads, &PoolKernels::max_backward, gradient_);
    check_gradient([&](int64_t o, int64_t i) { return indices_.get(o) == static_cast<double>(i) ? 1.0 : 0.0; });
    if (!overlaps()) check_gradient_of_output_dtype(threads);
  }
  void take_maxima(int threads) { run(threads, &PoolKernels::max, input_); }

  void run_average(int threads, bool counts_padding) {
    counts_padding_ = counts_padding;
    run(threads, &PoolKernels::average, input_);
    check_average();
    output_.fill_uniform(-1, 1, 2);
    run(threads, &PoolKernels::average_backward, gradient_);
    check_gradient([&](int64_t o, int64_t) { return 1 / static_cast<double>(count_of(o)); });
  }

  const std::vector<std::byte>& output_bytes() const { return output_.bytes(); }
  const std::vector<std::byte>& index_bytes() const { return indices_.bytes(); }
  const std::vector<std::byte>& gradient_bytes() const { return gradient_.bytes(); }

 private:
  using Entry = Status (*PoolKernels::*)(Stream&, const PoolArgs&) noexcept;

  void run(int threads, Entry entry, const HostTensor& image) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    PoolArgs args = {.input = image.view(), .output = output_.view(), .indices = indices_.view()};
    args.window = shape_.window;
    args.counts_padding = counts_padding_;
    for (int d = 0; d < 2; ++d) args.kernel[d] = shape_.kernel[d];
    EXPECT_TRUE((cpu::kPoolKernels.*entry)(stream, args).ok());
    EXPECT_TRUE(input_.guards_hold() && output_.guards_hold() && indices_.guards_hold() && gradient_.guards_hold());
  }

  bool overlaps() const {
    const auto along = [&](int dim) {
      return (shape_.kernel[dim] - 1) * shape_.window.dilation[dim] >= shape_.window.stride[dim];
    };
    return along(0) || along(1);
  }

  // The gradient in the output's dtype has the bits of the wider one.
  void check_gradient_of_output_dtype(int threads) {
    HostTensor narrow(output_.view().dtype, gradient_.view().shape);
    run(threads, &PoolKernels::max_backward, narrow);
    EXPECT_TRUE(narrow.guards_hold());
    for (int64_t i = 0; i < narrow.numel(); ++i) {
      ASSERT_EQ(narrow.get(i), gradient_.get(i));
      ASSERT_EQ(std::signbit(narrow.get(i)), std::signbit(gradient_.get(i)));
    }
  }

  // Position of a window's element; -1 outside the input.
  int64_t place(int dim, int64_t position, int64_t tap) const {
    const int64_t size = shape_.size[dim];
    const int64_t begin = position * shape_.window.stride[dim] - shape_.window.padding[dim];
    const int64_t at = begin + tap * shape_.window.dilation[dim];
    return at >= 0 && at < size ? at : -1;
  }

  // Calls f(index in the plane) for each element in the window of output element o, in row-major order.
  template <class F>
  void for_each_covered(int64_t o, F&& f) const {
    const int64_t x = o % columns_;
    const int64_t y = o / columns_ % rows_;
    for (int64_t i = 0; i < shape_.kernel[0]; ++i) {
      for (int64_t j = 0; j < shape_.kernel[1]; ++j) {
        const int64_t row = place(0, y, i);
        const int64_t column = place(1, x, j);
        if (row >= 0 && column >= 0) f(row * shape_.size[1] + column);
      }
    }
  }
  int64_t plane_of(int64_t o) const { return o / (rows_ * columns_) * shape_.size[0] * shape_.size[1]; }

  // PyTorch counts padding elements, but not the part of a window beyond the padding.
  int64_t count_of(int64_t o) const {
    int64_t covered = 0;
    for_each_covered(o, [&](int64_t) { ++covered; });
    if (!counts_padding_) return covered;
    int64_t count = 1;
    for (int d = 0; d < 2; ++d) {
      const int64_t position = d == 0 ? o / columns_ % rows_ : o % columns_;
      const int64_t begin = position * shape_.window.stride[d] - shape_.window.padding[d];
      count *= std::min(begin + shape_.kernel[d], shape_.size[d] + shape_.window.padding[d]) - begin;
    }
    return count;
  }

  void check_max() const {
    for (int64_t o = 0; o < output_.numel(); ++o) {
      double best = -std::numeric_limits<double>::infinity();
      int64_t index = -1;
      for_each_covered(o, [&](int64_t i) {
        const double value = input_.get(plane_of(o) + i);
        if (index >= 0 && !(value > best) && !std::isnan(value)) return;
        best = value;
        index = i;
      });
      ASSERT_TRUE(is_close(output_.get(o), best, DType::kI64)) << output_.get(o) << " instead of " << best;
      ASSERT_EQ(static_cast<int64_t>(indices_.get(o)), index);
    }
  }

  void check_average() const {
    for (int64_t o = 0; o < output_.numel(); ++o) {
      double sum = 0;
      for_each_covered(o, [&](int64_t i) { sum += input_.get(plane_of(o) + i); });
      ASSERT_TRUE(is_close(output_.get(o), sum / static_cast<double>(count_of(o)), output_.view().dtype, 8))
          << output_.get(o) << " instead of " << sum / static_cast<double>(count_of(o));
    }
  }

  template <class Share>
  void check_gradient(Share&& share) const {
    std::vector<double> expected(static_cast<size_t>(gradient_.numel()));
    for (int64_t o = 0; o < output_.numel(); ++o) {
      for_each_covered(
          o, [&](int64_t i) { expected[static_cast<size_t>(plane_of(o) + i)] += output_.get(o) * share(o, i); });
    }
    for (int64_t i = 0; i < gradient_.numel(); ++i) {
      ASSERT_TRUE(is_close(gradient_.get(i), expected[static_cast<size_t>(i)], gradient_.view().dtype, 8));
    }
  }

  PoolShape shape_;
  bool counts_padding_ = false;
  int64_t rows_;
  int64_t columns_;
  HostTensor input_;
  HostTensor output_;
  HostTensor indices_;
  HostTensor gradient_;
};

TEST(Pool, TakesTheFirstOfTheLargestOfEachWindow) {
  for_each_instruction_set([] {
    for (const DType dtype : kDTypes) {
      for (const PoolShape& shape : kShapes) PoolCase(shape, dtype).run_max(1);
      PoolCase(kDilated, dtype).run_max(1);
      PoolCase(kDilatedRows, dtype).run_max(1);
      PoolCase(kDilatedBeyond, dtype).run_max(1);
      PoolCase(kEmpty, dtype).run_max(1);
    }
  });
}

TEST(Pool, AveragesEachWindowWithAndWithoutPadding) {
  for_each_instruction_set([] {
    for (const DType dtype : kDTypes) {
      for (const PoolShape& shape : kShapes) {
        for (const bool counts_padding : {false, true}) PoolCase(shape, dtype).run_average(1, counts_padding);
      }
    }
  });
}

// Rows with gaps between their elements are never computed in vectors of positions.
TEST(Pool, TakesTheSameBitsFromRowsWithAndWithoutGaps) {
  const ConvWindow windows[] = {{{2, 2}, {0, 0}, {1, 1}}, {{2, 2}, {1, 1}, {1, 1}}, {{1, 1}, {1, 1}, {1, 1}},
                                {{1, 1}, {0, 1}, {2, 2}}, {{2, 2}, {0, 0}, {1, 2}}, {{3, 3}, {1, 1}, {1, 1}}};
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {std::nan(""), -inf, -inf, inf, -0.0, 0.0};
  const auto check = [&](const PoolShape& shape, DType dtype) {
    PoolCase dense(shape, dtype), gaps(shape, dtype, true);
    for (int64_t i = 0; i < dense.input().numel(); ++i) {
      const double value = i % 3 == 0 ? special[i / 3 % 7 % 6] : i / 40 % 3 == 0 ? -inf : dense.input().get(i);
      dense.input().set(i, value);
      gaps.input().set(i, value);
    }
    dense.take_maxima(1);
    gaps.take_maxima(1);
    EXPECT_EQ(dense.output_bytes(), gaps.output_bytes());
    EXPECT_EQ(dense.index_bytes(), gaps.index_bytes());
  };
  for_each_instruction_set([&] {
    for (const DType dtype : kDTypes) {
      for (const ConvWindow& window : windows) {
        for (const int64_t width : {4, 7, 8, 9, 14, 17, 28, 33, 37, 70}) {
          for (const int64_t kernel : {2, 3}) check({1, 2, {7, width}, {kernel, kernel}, window}, dtype);
        }
      }
    }
  });
}

TEST(Pool, GivesTheSameBitsOnEveryNumberOfThreads) {
  for (const PoolShape& shape : kShapes) {
    for (const bool is_max : {false, true}) {
      PoolCase alone(shape, DType::kF32);
      is_max ? alone.run_max(1) : alone.run_average(1, false);
      for (const int threads : {2, 5}) {
        PoolCase together(shape, DType::kF32);
        is_max ? together.run_max(threads) : together.run_average(threads, false);
        EXPECT_EQ(together.gradient_bytes(), alone.gradient_bytes());
      }
    }
  }
}

}  // namespace
}  // namespace halftone
