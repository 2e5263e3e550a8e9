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

TEST(Triangle, KeepsItsSideInEveryDtypeAndShape) {
  for (int32_t dtype = kDTypeFirst; dtype <= kDTypeLast; ++dtype) {
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{2, 5, 3}, Shape{0, 3}, Shape{3, 0}}) {
      for (const int64_t diagonal : {int64_t{-4}, int64_t{-1}, int64_t{0}, int64_t{2}, int64_t{9}}) {
        expect_triangle(Triangle::kLower, diagonal, static_cast<DType>(dtype), shape, 1);
        expect_triangle(Triangle::kUpper, diagonal, static_cast<DType>(dtype), shape, 1);
      }
    }
  }
}

TEST(Triangle, GoesOverManyRowsOnSeveralThreads) {
  expect_triangle(Triangle::kLower, 0, DType::kF32, {3, 200, 201}, 7);
  expect_triangle(Triangle::kUpper, 1, DType::kBF16, {2, 3, 40000}, 3);
}

}  // namespace
}  // namespace halftone
