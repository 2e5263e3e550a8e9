#include <gtest/gtest.h>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {
namespace {

void expect_triangle(Triangle kept, int64_t diagonal, DType dtype, const Shape& shape, int threads) {
  HostTensor in(dtype, shape);
  in.fill_uniform(1, 100, 3);
  HostTensor out(dtype, shape);
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kIndexKernels.triangle(stream, kept, diagonal, in.view(), out.view()).ok());
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t columns = shape[shape.rank() - 1];
  for (int64_t i = 0; i < in.numel(); ++i) {
    const int64_t distance = i % columns - i / columns % rows;
    const bool is_kept = kept == Triangle::kLower ? distance <= diagonal : distance >= diagonal;
    ASSERT_EQ(out.get(i), is_kept ? in.get(i) : 0) << i;
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(Triangle, GoesOverManyRowsOnSeveralThreads) {
  expect_triangle(Triangle::kLower, 0, DType::kF32, {3, 200, 201}, 7);
  expect_triangle(Triangle::kUpper, 1, DType::kBF16, {2, 3, 40000}, 3);
}

}  // namespace
}  // namespace halftone
