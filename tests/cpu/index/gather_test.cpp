#include <gtest/gtest.h>

#include <cstring>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {
namespace {

HostTensor make_indices(const Shape& shape, const std::vector<int64_t>& values) {
  HostTensor indices(DType::kI64, shape);
  if (!values.empty()) std::memcpy(indices.data(), values.data(), values.size() * sizeof(int64_t));
  return indices;
}

HostTensor make_indices(const std::vector<int64_t>& values) {
  return make_indices({static_cast<int64_t>(values.size())}, values);
}

// Entries without a visible pattern.
std::vector<int64_t> mixed_indices(int64_t count, int64_t bound) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(i * i * 37 % 101 * 7919 % bound);
  return values;
}

void gather(int dim, const HostTensor& in, const HostTensor& index, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kIndexKernels.gather(stream, dim, in.view(), index.view(), out.view()).ok());
}

Status check_range(const HostTensor& indices, int64_t bound, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kIndexKernels.check_range(stream, "indices", indices.view(), bound);
}

void expect_rows(DType dtype, int64_t rows, int64_t width, const std::vector<int64_t>& picked, int threads) {
  HostTensor in(dtype, {rows, width});
  in.fill_uniform(0, 100, 7);
  HostTensor out(dtype, {static_cast<int64_t>(picked.size()), width});
  gather(0, in, make_indices(picked), out, threads);
  for (size_t i = 0; i < picked.size(); ++i) {
    for (int64_t j = 0; j < width; ++j) {
      ASSERT_EQ(out.get(static_cast<int64_t>(i) * width + j), in.get(picked[i] * width + j));
    }
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(Gather, TakesManyRowsOnSeveralThreads) { expect_rows(DType::kF32, 60, 33, mixed_indices(5000, 60), 7); }

TEST(Gather, TakesRowsLargerThanAChunk) { expect_rows(DType::kF64, 3, 20000, {2, 2, 0}, 2); }

TEST(IndexRange, NamesTheFirstEntryOutside) {
  for (const int64_t bad : {int64_t{70}, int64_t{60}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const Status status = check_range(make_indices({1, 2, 59, bad, 5, bad}), 60);
    EXPECT_EQ(status.code, Code::kInvalidArgument);
    EXPECT_EQ(std::string(status.message), "indices[3]=" + std::to_string(bad) + " is outside [0, 60)");
  }
  EXPECT_STREQ(check_range(make_indices({2, 3}, {0, 1, 2, 3, 4, 9}), 5).message, "indices[1, 2]=9 is outside [0, 5)");
  EXPECT_STREQ(check_range(make_indices({}, {7}), 5).message, "indices=7 is outside [0, 5)");
  EXPECT_STREQ(check_range(make_indices({0}), 0).message, "indices[0]=0 is outside [0, 0)");
}

TEST(IndexRange, IsTheSameEntryOnAnyNumberOfThreads) {
  std::vector<int64_t> values(300000, 4);
  values[80001] = 5;
  values[200001] = -1;
  for (const int threads : {1, 2, 7}) {
    EXPECT_STREQ(check_range(make_indices(values), 5, threads).message, "indices[80001]=5 is outside [0, 5)");
    EXPECT_TRUE(check_range(make_indices(std::vector<int64_t>(300000, 4)), 5, threads).ok());
  }
  EXPECT_TRUE(check_range(make_indices(std::vector<int64_t>{}), 0).ok());
}

}  // namespace
}  // namespace halftone
