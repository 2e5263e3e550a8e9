#include <gtest/gtest.h>

#include <cmath>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

using Forward = Status (*)(Stream&, const View&, int, const View&) noexcept;
using Backward = Status (*)(Stream&, const View&, const View&, int, const View&) noexcept;

void run(Forward kernel, const HostTensor& x, int dim, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(kernel(stream, x.view(), dim, out.view()).ok());
}

void run(Backward kernel, const HostTensor& grad, const HostTensor& result, int dim, const HostTensor& out,
         int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(kernel(stream, grad.view(), result.view(), dim, out.view()).ok());
}

// Calls f(indices of a row's elements) for every row along `dim`.
template <class F>
void for_each_row(const Shape& shape, int dim, F&& f) {
  int64_t inner = 1;
  for (int i = dim + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t length = shape[dim];
  for (int64_t row = 0; row < numel(shape) / std::max<int64_t>(1, length); ++row) {
    std::vector<int64_t> at;
    for (int64_t j = 0; j < length; ++j) at.push_back((row / inner * length + j) * inner + row % inner);
    f(at);
  }
}

std::vector<double> softmax_reference(const HostTensor& x, int dim, bool logarithm) {
  std::vector<double> out(static_cast<size_t>(x.numel()));
  for_each_row(x.view().shape, dim, [&](const std::vector<int64_t>& row) {
    double largest = -INFINITY, sum = 0;
    for (const int64_t i : row) largest = std::max(largest, x.get(i));
    for (const int64_t i : row) sum += std::exp(x.get(i) - largest);
    for (const int64_t i : row) {
      const double difference = x.get(i) - largest;
      out[static_cast<size_t>(i)] = logarithm ? difference - std::log(sum) : std::exp(difference) / sum;
    }
  });
  return out;
}

std::vector<double> backward_reference(const HostTensor& grad, const HostTensor& result, int dim, bool logarithm) {
  std::vector<double> out(static_cast<size_t>(grad.numel()));
  for_each_row(grad.view().shape, dim, [&](const std::vector<int64_t>& row) {
    double sum = 0;
    for (const int64_t i : row) sum += grad.get(i) * (logarithm ? 1 : result.get(i));
    for (const int64_t i : row) {
      const double g = grad.get(i), y = result.get(i);
      out[static_cast<size_t>(i)] = logarithm ? g - std::exp(y) * sum : (g - sum) * y;
    }
  });
  return out;
}

// `growth` widens the bound: the exponential of logits up to 10 multiplies their rounding error.
void expect_all_close(const HostTensor& out, const std::vector<double>& expected, double growth) {
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double value = expected[static_cast<size_t>(i)];
    ASSERT_TRUE(is_close(out.get(i), value, out.view().dtype, growth)) << i << ": " << out.get(i) << " for " << value;
  }
  EXPECT_TRUE(out.guards_hold());
}

void check(DType dtype, const Shape& shape, const Shape& strides, int dim) {
  HostTensor x(dtype, shape, strides), y(dtype, shape), z(dtype, shape);
  x.fill_uniform(-10, 10, 3);
  run(cpu::kNormKernels.softmax, x, dim, y);
  expect_all_close(y, softmax_reference(x, dim, false), 4);
  run(cpu::kNormKernels.log_softmax, x, dim, z);
  expect_all_close(z, softmax_reference(x, dim, true), 4);

  HostTensor grad(dtype, shape), grad_input(dtype, shape, strides);
  grad.fill_uniform(-1, 1, 4);
  run(cpu::kNormKernels.softmax_backward, grad, y, dim, grad_input);
  expect_all_close(grad_input, backward_reference(grad, y, dim, false), 4);
  run(cpu::kNormKernels.log_softmax_backward, grad, z, dim, grad_input);
  expect_all_close(grad_input, backward_reference(grad, z, dim, true), 32);
}

TEST(Softmax, FollowsTheReferenceForEveryLength) {
  for_each_instruction_set([] {
    for (int64_t length = 0; length < 70; ++length)
      check(DType::kF32, {2, length}, {std::max<int64_t>(1, length), 1}, 1);
  });
}

TEST(Softmax, FollowsTheReferenceForRowsAroundATileAndForMany) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const int64_t length : {255, 256, 257, 511, 512, 513, 1500}) check(dtype, {2, length}, {length, 1}, 1);
      check(dtype, {5000, 10}, {10, 1}, 1);
    }
  });
}

TEST(Softmax, FollowsTheReferenceWhereRowsLieSideBySide) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      check(dtype, {30, 70}, {70, 1}, 0);
      check(dtype, {30, 70}, {190, 2}, 0);
      check(dtype, {3, 30, 70}, {1, 3, 90}, 2);
      check(dtype, {2, 17, 5, 13}, {1105, 65, 13, 1}, 1);
      check(dtype, {1, 40}, {40, 1}, 0);
      check(dtype, {3000, 40}, {40, 1}, 0);  // few columns with many elements each, so that threads share a column
    }
  });
}

TEST(Softmax, TakesInputsAndOutputsOfOtherDtypes) {
  HostTensor x(DType::kBF16, {9, 33}), out(DType::kF32, {9, 33}), narrow(DType::kF16, {9, 33});
  x.fill_uniform(-10, 10, 3);
  run(cpu::kNormKernels.softmax, x, 1, out);
  expect_all_close(out, softmax_reference(x, 1, false), 4);
  HostTensor wide(DType::kF64, {9, 33});
  wide.fill_uniform(-10, 10, 3);
  run(cpu::kNormKernels.log_softmax, wide, 1, narrow);
  expect_all_close(narrow, softmax_reference(wide, 1, true), 4);
}

// N6, and logits far beyond the range of exp.
TEST(Softmax, StaysFiniteForLargeLogits) {
  for_each_instruction_set([] {
    HostTensor x(DType::kF32, {1, 4}), y(DType::kF32, {1, 4}), z(DType::kF32, {1, 4});
    const double logits[] = {1e30, -1e30, 1e30, -INFINITY};
    for (int64_t i = 0; i < 4; ++i) x.set(i, logits[i]);
    run(cpu::kNormKernels.softmax, x, 1, y);
    run(cpu::kNormKernels.log_softmax, x, 1, z);
    const double probabilities[] = {0.5, 0, 0.5, 0};
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.get(i), probabilities[i]);
    EXPECT_EQ(z.get(0), static_cast<float>(-std::log(2.0)));
    EXPECT_EQ(z.get(1), static_cast<float>(-2e30));
    EXPECT_EQ(z.get(3), -INFINITY);
  });
}

// N6
TEST(Softmax, IsNanInRowsWithoutADistribution) {
  for_each_instruction_set([] {
    for (const int64_t length : {3, 40, 600}) {
      for (const DType dtype : kDtypes) {
        HostTensor x(dtype, {4, length}), y(dtype, {4, length}), z(dtype, {4, length});
        x.fill_uniform(-1, 1, 3);
        for (int64_t j = 0; j < length; ++j) x.set(j, -INFINITY);  // fully masked
        x.set(length + length / 2, INFINITY);
        x.set(2 * length + length - 1, NAN);
        run(cpu::kNormKernels.softmax, x, 1, y);
        run(cpu::kNormKernels.log_softmax, x, 1, z);
        for (int64_t i = 0; i < 4 * length; ++i) {
          EXPECT_EQ(std::isnan(y.get(i)), i < 3 * length) << i;
          EXPECT_EQ(std::isnan(z.get(i)), i < 3 * length) << i;
        }
      }
    }
  });
}

TEST(Softmax, IsNanInColumnsWithoutADistribution) {
  for_each_instruction_set([] {
    for (const int64_t length : {3, 40, 3000}) {
      for (const DType dtype : kDtypes) {
        HostTensor x(dtype, {length, 20}), y(dtype, {length, 20}), z(dtype, {length, 20});
        x.fill_uniform(-1, 1, 3);
        for (int64_t j = 0; j < length; ++j) x.set(20 * j, -INFINITY);  // fully masked
        x.set(20 * (length / 2) + 1, INFINITY);
        x.set(20 * (length - 1) + 2, NAN);
        run(cpu::kNormKernels.softmax, x, 0, y, 2);
        run(cpu::kNormKernels.log_softmax, x, 0, z, 2);
        for (int64_t i = 0; i < 20 * length; ++i) {
          ASSERT_EQ(std::isnan(y.get(i)), i % 20 < 3) << i;
          ASSERT_EQ(std::isnan(z.get(i)), i % 20 < 3) << i;
        }
      }
    }
  });
}

TEST(Softmax, MayWriteOverItsInput) {
  for (const auto kernel : {cpu::kNormKernels.softmax, cpu::kNormKernels.log_softmax}) {
    HostTensor columns(DType::kF32, {600, 70}), result(DType::kF32, {600, 70});
    columns.fill_uniform(-10, 10, 3);
    run(kernel, columns, 0, result);
    run(kernel, columns, 0, columns);
    EXPECT_EQ(columns.bytes(), result.bytes());
  }
  for (const int64_t length : {7, 512, 600}) {
    HostTensor x(DType::kF32, {3, length}), y(DType::kF32, {3, length});
    x.fill_uniform(-10, 10, 3);
    run(cpu::kNormKernels.softmax, x, 1, y);
    run(cpu::kNormKernels.softmax, x, 1, x);
    EXPECT_EQ(x.bytes(), y.bytes());
  }
}

TEST(Softmax, GivesTheSameBitsOnAnyNumberOfThreads) {
  for_each_instruction_set([] {
    for (const int dim : {0, 1}) {
      HostTensor x(DType::kF32, {3000, 17}), grad(DType::kF32, {3000, 17});
      x.fill_uniform(-10, 10, 3);
      grad.fill_uniform(-1, 1, 4);
      for (const Forward kernel : {cpu::kNormKernels.softmax, cpu::kNormKernels.log_softmax}) {
        HostTensor one(DType::kF32, {3000, 17}), two(DType::kF32, {3000, 17}), seven(DType::kF32, {3000, 17});
        run(kernel, x, dim, one, 1);
        run(kernel, x, dim, two, 2);
        run(kernel, x, dim, seven, 7);
        EXPECT_EQ(two.bytes(), one.bytes());
        EXPECT_EQ(seven.bytes(), one.bytes());
      }
      for (const Backward kernel : {cpu::kNormKernels.softmax_backward, cpu::kNormKernels.log_softmax_backward}) {
        HostTensor one(DType::kF32, {3000, 17}), seven(DType::kF32, {3000, 17});
        run(kernel, grad, x, dim, one, 1);
        run(kernel, grad, x, dim, seven, 7);
        EXPECT_EQ(seven.bytes(), one.bytes());
      }
    }
  });
}

}  // namespace
}  // namespace halftone
