#include <gtest/gtest.h>

#include <cmath>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr Dropout kDropout = {.key = {0x123456789abcdef0, 42}, .p = 0.3, .scale = 1 / 0.7};
constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

void drop(const Dropout& dropout, const HostTensor& in, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kRandomKernels.dropout(stream, dropout, in.view(), out.view()).ok());
}

double uniform_of(int64_t i) {
  const uint32_t word = philox(kDropout.key, static_cast<uint64_t>(i / 4))[static_cast<size_t>(i % 4)];
  return static_cast<double>(word >> 8) * 0x1p-24;
}

void expect_dropped(const HostTensor& in, const HostTensor& out) {
  drop(kDropout, in, out, 3);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double expected = uniform_of(i) >= kDropout.p ? in.get(i) * kDropout.scale : 0;
    ASSERT_TRUE(is_close(out.get(i), expected, out.view().dtype)) << i << ": " << out.get(i) << ", not " << expected;
    ASSERT_EQ(out.get(i) == 0, expected == 0) << i;
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(Dropout, KeepsWhereTheUniformOfTheElementIsAtLeastP) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7, 5}, Shape{515}, Shape{4, 129}, Shape{40000}}) {
        HostTensor in(dtype, shape), out(dtype, shape);
        in.fill_uniform(0.5, 2, 3);
        expect_dropped(in, out);
      }
    }
  });
}

TEST(Dropout, IsTheSameInAnyLayoutAndBetweenDtypes) {
  for_each_instruction_set([] {
    HostTensor in(DType::kBF16, {40, 50}, {1, 41}), out(DType::kF32, {40, 50}, {51, 1});
    in.fill_uniform(0.5, 2, 3);
    expect_dropped(in, out);
    HostTensor repeated(DType::kF32, {40, 50}, {0, 1}), wide(DType::kF64, {40, 50}, {1, 41});
    repeated.fill_uniform(0.5, 2, 3);
    expect_dropped(repeated, wide);
  });
}

TEST(Dropout, GivesTheSameBitsOnAnyNumberOfThreadsAndEveryInstructionSet) {
  for (const DType dtype : kDtypes) {
    HostTensor in(dtype, {100003}), one(dtype, {100003});
    in.fill_uniform(-2, 2, 3);
    drop(kDropout, in, one);
    for_each_instruction_set([&] {
      for (const int threads : {1, 2, 7}) {
        HostTensor other(dtype, {100003});
        drop(kDropout, in, other, threads);
        EXPECT_EQ(other.bytes(), one.bytes());
      }
    });
  }
}

TEST(Dropout, DropsAllOrNothingAtTheEndsOfP) {
  HostTensor in(DType::kF32, {3}), out(DType::kF32, {3});
  in.set(0, 1);
  in.set(1, std::nan(""));
  in.set(2, INFINITY);
  drop({.key = kDropout.key, .p = 0, .scale = 1}, in, out);
  EXPECT_EQ(out.get(0), 1);
  EXPECT_TRUE(std::isnan(out.get(1)));
  EXPECT_EQ(out.get(2), INFINITY);
  drop({.key = kDropout.key, .p = 1, .scale = 0}, in, out);
  EXPECT_EQ(out.get(0), 0);
  EXPECT_TRUE(std::isnan(out.get(1)));
  EXPECT_TRUE(std::isnan(out.get(2)));
}

}  // namespace
}  // namespace halftone
