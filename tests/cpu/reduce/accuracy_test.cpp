#include <gtest/gtest.h>

#include <cmath>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

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
