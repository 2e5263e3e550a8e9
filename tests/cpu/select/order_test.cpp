#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {
namespace {

std::vector<int64_t> run_order(const SortOrder& order, const HostTensor& in, int64_t count, int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  Shape shape = in.view().shape;
  shape[order.dim] = count;
  HostTensor out(DType::kI64, shape);
  const size_t bytes = cpu::kSelectKernels.order_workspace(stream, order, in.view(), out.view());
  std::vector<std::max_align_t> workspace(bytes / sizeof(std::max_align_t) + 1);
  EXPECT_TRUE(cpu::kSelectKernels.order(stream, order, in.view(), workspace.data(), out.view()).ok());
  EXPECT_TRUE(out.guards_hold());
  std::vector<int64_t> result;
  for (int64_t i = 0; i < out.numel(); ++i) result.push_back(static_cast<int64_t>(out.get(i)));
  return result;
}

std::vector<int64_t> expected_line(const HostTensor& in, bool descending) {
  std::vector<double> values;
  for (int64_t i = 0; i < in.numel(); ++i) values.push_back(in.get(i));
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double x = values[static_cast<size_t>(descending ? b : a)];
    const double y = values[static_cast<size_t>(descending ? a : b)];
    return std::isnan(y) ? !std::isnan(x) : x < y;
  });
  return order;
}

// Several runs and rounds, a last run that is short, and a run without a neighbour.
TEST(OrderKernel, SortsLongLinesOnAnyNumberOfThreads) {
  for (const int64_t size : {32769, 131073}) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      HostTensor in(dtype, {size});
      in.fill_uniform(-1, 1, 11);
      for (int64_t i = 0; i < size; i += 3) in.set(i, 0.5);  // equal elements
      for (const bool descending : {false, true}) {
        const std::vector<int64_t> expected = expected_line(in, descending);
        for (const int threads : {1, 5}) {
          ASSERT_EQ(run_order({.dim = 0, .descending = descending}, in, size, threads), expected)
              << size << " " << name_of(dtype) << " " << threads;
        }
      }
    }
  }
}

TEST(OrderKernel, ChoosesFromLongLinesOnAnyNumberOfThreads) {
  HostTensor in(DType::kBF16, {70001});
  in.fill_uniform(-2, 2, 5);
  std::vector<int64_t> expected = expected_line(in, true);
  expected.resize(100);
  for (const int threads : {1, 3}) {
    EXPECT_EQ(run_order({.dim = 0, .descending = true}, in, 100, threads), expected);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(run_order({.dim = 0, .descending = true, .sorts_chosen = false}, in, 100, 2), expected);
}

template <class T>
void expect_special(DType dtype) {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T least = std::numeric_limits<T>::denorm_min(), most = std::numeric_limits<T>::max();
  const T values[] = {nan, T(0), -infinity, -nan, -T(0), infinity, -least, least, -most, most, T(0)};
  HostTensor in(dtype, {11});
  std::copy(std::begin(values), std::end(values), static_cast<T*>(in.data()));
  const std::vector<int64_t> up = {2, 8, 6, 1, 4, 10, 7, 9, 5, 0, 3};
  const std::vector<int64_t> down = {0, 3, 5, 9, 7, 1, 4, 10, 6, 8, 2};
  EXPECT_EQ(run_order({.dim = 0}, in, 11, 1), up);
  EXPECT_EQ(run_order({.dim = 0, .descending = true}, in, 11, 1), down);
}

TEST(OrderKernel, PutsNanLastAndKeepsZerosOfBothSigns) {
  expect_special<float>(DType::kF32);
  expect_special<double>(DType::kF64);
}

TEST(OrderKernel, KnowsTheEndsOfIntegers) {
  HostTensor in(DType::kI64, {4});
  const int64_t values[] = {0, INT64_MIN, INT64_MAX, -1};
  std::copy(std::begin(values), std::end(values), static_cast<int64_t*>(in.data()));
  EXPECT_EQ(run_order({.dim = 0}, in, 4, 1), (std::vector<int64_t>{1, 3, 0, 2}));
  EXPECT_EQ(run_order({.dim = 0, .descending = true}, in, 4, 1), (std::vector<int64_t>{2, 0, 3, 1}));
}

}  // namespace
}  // namespace halftone
