#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {
namespace {

Status gather_rows(const HostTensor& in, const HostTensor& indices, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kIndexKernels.gather_rows(stream, in.view(), indices.view(), out.view());
}

HostTensor make_indices(const std::vector<int64_t>& values) {
  HostTensor indices(DType::kI64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) indices.set(static_cast<int64_t>(i), static_cast<double>(values[i]));
  return indices;
}

void expect_rows(DType dtype, int64_t rows, int64_t width, const std::vector<int64_t>& picked, int threads) {
  HostTensor in(dtype, {rows, width});
  in.fill_uniform(0, 100, 7);
  HostTensor out(dtype, {static_cast<int64_t>(picked.size()), width});
  ASSERT_TRUE(gather_rows(in, make_indices(picked), out, threads).ok());
  for (size_t i = 0; i < picked.size(); ++i) {
    for (int64_t j = 0; j < width; ++j) {
      ASSERT_EQ(out.get(static_cast<int64_t>(i) * width + j), in.get(picked[i] * width + j));
    }
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(GatherRows, CopiesTheNamedRowsOfEveryDtype) {
  for (int32_t dtype = kDTypeFirst; dtype <= kDTypeLast; ++dtype) {
    SCOPED_TRACE(name_of(static_cast<DType>(dtype)));
    expect_rows(static_cast<DType>(dtype), 5, 3, {4, 0, 0, 2, 1, 4, 3}, 1);
  }
}

TEST(GatherRows, TakesManyRowsOnSeveralThreads) {
  std::vector<int64_t> picked;
  for (int64_t i = 0; i < 5000; ++i) picked.push_back(i * 37 % 60);
  expect_rows(DType::kF32, 60, 33, picked, 7);
}

TEST(GatherRows, TakesRowsLargerThanAChunk) { expect_rows(DType::kF64, 3, 20000, {2, 2, 0}, 2); }

TEST(GatherRows, OfNothingIsNothing) {
  expect_rows(DType::kF32, 5, 3, {}, 1);
  expect_rows(DType::kF32, 5, 0, {1, 2}, 1);
}

TEST(GatherRows, RefusesAnIndexOutsideBeforeItWritesAnything) {
  HostTensor in(DType::kF32, {60, 2});
  for (const int64_t bad : {int64_t{70}, int64_t{60}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    HostTensor indices = make_indices({1, 2, 59, 0, 5});
    std::memcpy(static_cast<int64_t*>(indices.data()) + 3, &bad, sizeof bad);
    HostTensor out(DType::kF32, {5, 2});
    const auto before = out.bytes();
    const Status status = gather_rows(in, indices, out);
    EXPECT_EQ(status.code, Code::kInvalidArgument);
    EXPECT_EQ(std::string(status.message), "indices[3]=" + std::to_string(bad) + " is outside [0, 60)");
    EXPECT_EQ(out.bytes(), before);
  }
}

TEST(GatherRows, RefusesEveryIndexIntoAnEmptyTable) {
  HostTensor in(DType::kF32, {0, 2});
  HostTensor out(DType::kF32, {1, 2});
  EXPECT_STREQ(gather_rows(in, make_indices({0}), out).message, "indices[0]=0 is outside [0, 0)");
}

}  // namespace
}  // namespace halftone
