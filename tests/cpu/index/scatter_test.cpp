#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "tolerance.h"

namespace halftone {
namespace {

// Joins source [outer, count, inner] with out [outer, size, inner].
struct Case {
  DType dtype;
  int64_t outer, count, inner, size;
  bool by_row;
  int64_t ignored = -1;
  ScatterOp op = ScatterOp::kAdd;
};

std::vector<int64_t> indices_of(const Case& c) {
  std::vector<int64_t> values;
  const int64_t count = c.by_row ? c.count : c.outer * c.count * c.inner;
  for (int64_t i = 0; i < count; ++i) values.push_back(i * i * 37 % 101 * 7919 % c.size);
  return values;
}

void join(const Case& c, const HostTensor& source, const HostTensor& out, int threads) {
  const std::vector<int64_t> values = indices_of(c);
  HostTensor index(DType::kI64, c.by_row ? Shape{c.count} : source.view().shape);
  if (!values.empty()) std::memcpy(index.data(), values.data(), values.size() * sizeof(int64_t));
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(
      cpu::kIndexKernels
          .scatter(stream, {.dim = 1, .ignored = c.ignored, .op = c.op}, source.view(), index.view(), out.view())
          .ok());
}

// Sums, or the last element.
void expect_joined(const Case& c, int threads = 1) {
  HostTensor source(c.dtype, {c.outer, c.count, c.inner}), out(c.dtype, {c.outer, c.size, c.inner});
  source.fill_uniform(-9, 9, 1);
  out.fill_uniform(-9, 9, 2);
  const std::vector<int64_t> index = indices_of(c);
  std::vector<double> expected, magnitude;
  for (int64_t i = 0; i < out.numel(); ++i) {
    expected.push_back(out.get(i));
    magnitude.push_back(std::fabs(out.get(i)));
  }
  for (int64_t i = 0; i < source.numel(); ++i) {
    const int64_t row = i / c.inner;
    const int64_t place = index[static_cast<size_t>(c.by_row ? row % c.count : i)];
    if (place == c.ignored) continue;
    const size_t at = static_cast<size_t>((row / c.count * c.size + place) * c.inner + i % c.inner);
    const bool adds = c.op == ScatterOp::kAdd;
    expected[at] = (adds ? expected[at] : 0) + source.get(i);
    magnitude[at] = (adds ? magnitude[at] : 0) + std::fabs(source.get(i));
  }
  join(c, source, out, threads);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const size_t at = static_cast<size_t>(i);
    const double limit = tolerance(c.dtype).relative * static_cast<double>(c.count) * magnitude[at];
    ASSERT_LE(std::fabs(out.get(i) - expected[at]), limit) << i;
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(Scatter, PassesOverTheIgnoredEntry) {
  expect_joined({DType::kF32, 1, 40, 5, 4, true, 2});
  expect_joined({DType::kF32, 2, 40, 5, 4, false, 0});
}

TEST(Scatter, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Case cases[] = {
      {DType::kF32, 1, 5000, 64, 53, true},
      {DType::kF32, 1, 100000, 1, 7, false},
      {DType::kF32, 300, 700, 1, 11, false},
      {DType::kF64, 2, 300, 1000, 20, true},
      {DType::kF64, 40, 30, 100, 3, false},
      {DType::kF32, 1, 100000, 1, 7, false, -1, ScatterOp::kAssign},
      {DType::kI64, 1, 5000, 64, 53, true, 5, ScatterOp::kAssign},
  };
  for (const Case& c : cases) {
    expect_joined(c, 3);
    HostTensor source(c.dtype, {c.outer, c.count, c.inner}), one(c.dtype, {c.outer, c.size, c.inner});
    source.fill_uniform(-9, 9, 1);
    one.fill_uniform(-9, 9, 2);
    for (const int threads : {2, 7}) {
      HostTensor single(one), several(one);
      join(c, source, single, 1);
      join(c, source, several, threads);
      EXPECT_EQ(several.bytes(), single.bytes());
    }
  }
}

}  // namespace
}  // namespace halftone
