#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

DType row_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// Logits, targets and everything the two kernels write.
struct Batch {
  Batch(DType dtype, int64_t rows, int64_t classes)
      : Batch(dtype, {rows, classes}, contiguous_strides({rows, classes})) {}
  Batch(DType dtype, const Shape& shape, const Shape& strides)
      : logits(dtype, shape, strides),
        targets(DType::kI64, {shape[0]}),
        log_sum_exp(row_dtype(dtype), {shape[0]}),
        losses(row_dtype(dtype), {shape[0]}),
        grad_output(dtype, {}),
        grad_logits(dtype, shape, strides) {
    logits.fill_uniform(-10, 10, 3);
    for (int64_t i = 0; i < shape[0]; ++i) targets.set(i, static_cast<double>(i * 7 % std::max<int64_t>(1, shape[1])));
    grad_output.set(0, 0.5);
  }

  Status forward(int threads = 1) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    return cpu::kNormKernels.cross_entropy(stream, logits.view(), targets.view(), log_sum_exp.view(), losses.view());
  }
  Status backward(double scale, int threads = 1) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    return cpu::kNormKernels.cross_entropy_backward(stream, grad_output.view(), scale, logits.view(), targets.view(),
                                                    log_sum_exp.view(), grad_logits.view());
  }

  HostTensor logits, targets, log_sum_exp, losses, grad_output, grad_logits;
};

void check(Batch& batch) {
  constexpr double kScale = 0.25;
  ASSERT_TRUE(batch.forward().ok());
  ASSERT_TRUE(batch.backward(kScale).ok());
  const int64_t classes = batch.logits.view().shape[1];
  for (int64_t row = 0; row < batch.logits.view().shape[0]; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < classes; ++j) sum += std::exp(batch.logits.get(row * classes + j));
    const auto target = static_cast<int64_t>(batch.targets.get(row));
    const double loss = std::log(sum) - batch.logits.get(row * classes + target);
    ASSERT_TRUE(is_close(batch.log_sum_exp.get(row), std::log(sum), batch.losses.view().dtype, 4)) << row;
    ASSERT_TRUE(is_close(batch.losses.get(row), loss, batch.losses.view().dtype, 4)) << row;
    for (int64_t j = 0; j < classes; ++j) {
      const double probability = std::exp(batch.logits.get(row * classes + j)) / sum;
      const double grad = (probability - (j == target ? 1 : 0)) * 0.5 * kScale;
      ASSERT_TRUE(is_close(batch.grad_logits.get(row * classes + j), grad, batch.grad_logits.view().dtype, 8))
          << row << " " << j << ": " << batch.grad_logits.get(row * classes + j) << " for " << grad;
    }
  }
  for (const HostTensor* out : {&batch.log_sum_exp, &batch.losses, &batch.grad_logits}) EXPECT_TRUE(out->guards_hold());
}

TEST(CrossEntropy, FollowsTheReference) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const Shape& shape : {Shape{1, 1}, Shape{128, 10}, Shape{5, 257}, Shape{3, 1500}, Shape{3000, 7}}) {
        Batch batch(dtype, shape, contiguous_strides(shape));
        check(batch);
      }
    }
  });
}

TEST(CrossEntropy, FollowsTheReferenceForEveryNumberOfClasses) {
  for_each_instruction_set([] {
    for (int64_t classes = 1; classes < 70; ++classes) {
      Batch batch(DType::kF32, 3, classes);
      check(batch);
    }
  });
}

TEST(CrossEntropy, ReadsAndWritesAnyStrides) {
  Batch batch(DType::kBF16, {40, 30}, {1, 41});
  check(batch);
}

TEST(CrossEntropy, OfNoRowsIsNothing) {
  Batch batch(DType::kF32, 0, 10);
  check(batch);
}

TEST(CrossEntropy, KeepsItsPrecisionForLargeLogits) {
  Batch batch(DType::kF32, 1, 3);
  const double logits[] = {1e7, 1e7 - 2, -1e30};
  for (int64_t j = 0; j < 3; ++j) batch.logits.set(j, logits[j]);
  batch.targets.set(0, 1);
  ASSERT_TRUE(batch.forward().ok());
  EXPECT_NEAR(batch.losses.get(0), 2 + std::log1p(std::exp(-2.0)), 1e-6);
}

TEST(CrossEntropy, IsInfiniteForAnImpossibleTargetAndNanWithoutADistribution) {
  Batch batch(DType::kF32, 4, 3);
  batch.targets.set(0, 0);
  batch.logits.set(0, -INFINITY);
  for (int64_t j = 3; j < 6; ++j) batch.logits.set(j, -INFINITY);
  batch.logits.set(7, NAN);
  batch.logits.set(11, INFINITY);
  ASSERT_TRUE(batch.forward().ok());
  EXPECT_EQ(batch.losses.get(0), INFINITY);
  for (int64_t row = 1; row < 4; ++row) EXPECT_TRUE(std::isnan(batch.losses.get(row))) << row;
}

TEST(CrossEntropy, RefusesATargetOutsideBeforeItWritesAnything) {
  Batch batch(DType::kF32, 3000, 10);
  for (const double bad : {12.0, 10.0, -1.0, -100.0}) {
    batch.targets.set(5, bad);
    const auto sums = batch.log_sum_exp.bytes(), losses = batch.losses.bytes();
    const Status status = batch.forward(2);
    EXPECT_EQ(status.code, Code::kInvalidArgument);
    EXPECT_EQ(std::string(status.message),
              "targets[5]=" + std::to_string(static_cast<int64_t>(bad)) + " is outside [0, 10)");
    EXPECT_EQ(batch.log_sum_exp.bytes(), sums);
    EXPECT_EQ(batch.losses.bytes(), losses);
  }
}

TEST(CrossEntropy, GivesTheSameBitsOnAnyNumberOfThreads) {
  for_each_instruction_set([] {
    Batch one(DType::kF32, 3000, 17), two(DType::kF32, 3000, 17), seven(DType::kF32, 3000, 17);
    Batch* const batches[] = {&one, &two, &seven};
    const int threads[] = {1, 2, 7};
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(batches[i]->forward(threads[i]).ok());
      ASSERT_TRUE(batches[i]->backward(1, threads[i]).ok());
      EXPECT_EQ(batches[i]->losses.bytes(), one.losses.bytes());
      EXPECT_EQ(batches[i]->log_sum_exp.bytes(), one.log_sum_exp.bytes());
      EXPECT_EQ(batches[i]->grad_logits.bytes(), one.grad_logits.bytes());
    }
  });
}

}  // namespace
}  // namespace halftone
