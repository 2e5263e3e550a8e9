#include <gtest/gtest.h>

#include <cmath>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

Status accuracy(const HostTensor& logits, const HostTensor& targets, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kReduceKernels.accuracy(stream, logits.view(), targets.view(), out.view());
}

double accuracy_of(const HostTensor& logits, const HostTensor& targets, int threads = 1) {
  HostTensor out(DType::kF32, {});
  EXPECT_TRUE(accuracy(logits, targets, out, threads).ok());
  EXPECT_TRUE(out.guards_hold());
  return out.get(0);
}

double reference(const HostTensor& logits, const HostTensor& targets) {
  const int64_t rows = logits.view().shape[0], classes = logits.view().shape[1];
  int64_t hits = 0;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t largest = 0;
    for (int64_t j = 1; j < classes; ++j) {
      if (logits.get(i * classes + j) > logits.get(i * classes + largest)) largest = j;
    }
    hits += largest == static_cast<int64_t>(targets.get(i)) ? 1 : 0;
  }
  return static_cast<float>(static_cast<double>(hits) / static_cast<double>(rows));
}

TEST(Accuracy, IsTheShareOfRowsWhoseLargestEntryIsTheTarget) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      for (const Shape& shape : {Shape{1, 1}, Shape{37, 3}, Shape{300, 10}, Shape{5, 1300}, Shape{20000, 4}}) {
        HostTensor logits(dtype, shape), targets(DType::kI64, {shape[0]});
        logits.fill_uniform(-4, 4, 9);
        targets.fill_uniform(0, static_cast<double>(std::min<int64_t>(shape[1], 4)) - 0.001, 10);
        EXPECT_EQ(accuracy_of(logits, targets), reference(logits, targets));
        EXPECT_EQ(accuracy_of(logits, targets, 7), reference(logits, targets));
      }
    }
  });
}

TEST(Accuracy, ReadsAnyStrides) {
  HostTensor logits(DType::kF32, {60, 5}, {1, 61}), targets(DType::kI64, {60}, {3});
  logits.fill_uniform(-4, 4, 9);
  targets.fill_uniform(0, 4.999, 10);
  EXPECT_EQ(accuracy_of(logits, targets), reference(logits, targets));
}

TEST(Accuracy, CountsTheFirstOfEqualsAndNanAsLargest) {
  const struct {
    double row[4];
    int64_t largest;
  } cases[] = {{{1, 3, 3, 2}, 1},
               {{1, INFINITY, NAN, NAN}, 2},
               {{NAN, 5, NAN, INFINITY}, 0},
               {{-INFINITY, -INFINITY, -INFINITY, -INFINITY}, 0},
               {{-INFINITY, -INFINITY, -1, -INFINITY}, 2}};
  for (const auto& test : cases) {
    HostTensor logits(DType::kF32, {1, 4}), target(DType::kI64, {1});
    for (int64_t j = 0; j < 4; ++j) logits.set(j, test.row[j]);
    for (int64_t j = 0; j < 4; ++j) {
      target.set(0, static_cast<double>(j));
      EXPECT_EQ(accuracy_of(logits, target), j == test.largest ? 1.0 : 0.0) << test.largest;
    }
  }
}

TEST(Accuracy, OfNoRowsIsNan) {
  EXPECT_TRUE(std::isnan(accuracy_of(HostTensor(DType::kF32, {0, 4}), HostTensor(DType::kI64, {0}))));
}

TEST(Accuracy, RefusesTargetsOutside) {
  HostTensor logits(DType::kF32, {8, 10}), targets(DType::kI64, {8}), out(DType::kF32, {});
  logits.fill_uniform(-1, 1, 1);
  targets.fill_uniform(0, 9, 1);
  targets.set(5, 12);
  const auto before = out.bytes();
  const Status status = accuracy(logits, targets, out);
  EXPECT_EQ(status.code, Code::kInvalidArgument);
  EXPECT_STREQ(status.message, "targets[5]=12 is outside [0, 10)");
  EXPECT_EQ(out.bytes(), before);
}

}  // namespace
}  // namespace halftone
