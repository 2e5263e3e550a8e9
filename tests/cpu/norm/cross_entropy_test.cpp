#include <gtest/gtest.h>

#include <cmath>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};
constexpr int64_t kIgnored = -100;

DType row_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// Logits, targets and all outputs of the kernels.
struct Batch {
  Batch(DType dtype, int64_t rows, int64_t classes)
      : Batch(dtype, {rows, classes}, contiguous_strides({rows, classes})) {}
  Batch(DType dtype, const Shape& shape, const Shape& strides)
      : logits(dtype, shape, strides),
        targets(DType::kI64, {shape[0]}),
        normalizers(row_dtype(dtype), {shape[0], 2}),
        losses(row_dtype(dtype), {shape[0]}),
        row_weights(row_dtype(dtype), {shape[0]}),
        grad_rows(dtype, {shape[0]}),
        grad_logits(dtype, shape, strides) {
    logits.fill_uniform(-10, 10, 3);
    grad_rows.fill_uniform(-0.25, 0.25, 5);
    for (int64_t i = 0; i < shape[0]; ++i) targets.set(i, static_cast<double>(i * 7 % std::max<int64_t>(1, shape[1])));
  }

  ClassTargets class_targets() const { return {targets.view(), {}, kIgnored, 0}; }
  ClassLosses class_losses() const { return {losses.view(), row_weights.view(), normalizers.view()}; }

  Status forward(int threads = 1) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    const auto kernel = of_logits ? cpu::kNormKernels.cross_entropy : cpu::kNormKernels.nll;
    return kernel(stream, logits.view(), class_targets(), class_losses());
  }
  Status backward(int threads = 1) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    if (!of_logits)
      return cpu::kNormKernels.nll_backward(stream, grad_rows.view(), class_targets(), grad_logits.view());
    return cpu::kNormKernels.cross_entropy_backward(stream, grad_rows.view(), logits.view(), class_targets(),
                                                    normalizers.view(), grad_logits.view());
  }

  bool of_logits = true;
  HostTensor logits, targets, normalizers, losses, row_weights, grad_rows, grad_logits;
};

// The loss of a row and its slopes, in double.
struct Reference {
  double loss = 0;
  double row_weight = 0;
  std::vector<double> slopes;
};

Reference reference(const Batch& batch, int64_t row) {
  const int64_t classes = batch.logits.view().shape[1];
  Reference result;
  result.slopes.resize(static_cast<size_t>(classes));
  const auto target = static_cast<int64_t>(batch.targets.get(row));
  if (target == kIgnored) return result;
  double sum = 0;
  for (int64_t j = 0; j < classes; ++j) sum += std::exp(batch.logits.get(row * classes + j));
  result.loss = std::log(sum) - batch.logits.get(row * classes + target);
  for (int64_t j = 0; j < classes; ++j) {
    result.slopes[static_cast<size_t>(j)] = std::exp(batch.logits.get(row * classes + j)) / sum - (j == target ? 1 : 0);
  }
  result.row_weight = 1;
  return result;
}

void check(Batch& batch) {
  ASSERT_TRUE(batch.forward().ok());
  ASSERT_TRUE(batch.backward().ok());
  const int64_t classes = batch.logits.view().shape[1];
  for (int64_t row = 0; row < batch.logits.view().shape[0]; ++row) {
    const Reference expected = reference(batch, row);
    ASSERT_TRUE(is_close(batch.losses.get(row), expected.loss, batch.losses.view().dtype, 4)) << row;
    ASSERT_TRUE(is_close(batch.row_weights.get(row), expected.row_weight, batch.losses.view().dtype)) << row;
    for (int64_t j = 0; j < classes; ++j) {
      const double grad = expected.slopes[static_cast<size_t>(j)] * batch.grad_rows.get(row);
      ASSERT_TRUE(is_close(batch.grad_logits.get(row * classes + j), grad, batch.grad_logits.view().dtype, 8))
          << row << " " << j << ": " << batch.grad_logits.get(row * classes + j) << " for " << grad;
    }
  }
  for (const HostTensor* out : {&batch.normalizers, &batch.losses, &batch.row_weights, &batch.grad_logits}) {
    EXPECT_TRUE(out->guards_hold());
  }
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

TEST(CrossEntropy, GivesIgnoredRowsNoGradientWhateverTheirLogitsAre) {
  Batch batch(DType::kF32, 2, 3);
  for (int64_t j = 0; j < 3; ++j) batch.logits.set(j, NAN);
  batch.targets.set(0, kIgnored);
  check(batch);
}

// Computed from a stored log-sum-exp, which FP32 rounds to whole numbers at 1e7, the gradient would be wrong by a
// third.
TEST(CrossEntropy, KeepsItsPrecisionForLargeLogits) {
  Batch batch(DType::kF32, 1, 3);
  const double logits[] = {1e7, 1e7 - 2, -1e30};
  for (int64_t j = 0; j < 3; ++j) batch.logits.set(j, logits[j]);
  batch.targets.set(0, 1);
  batch.grad_rows.set(0, 1);
  ASSERT_TRUE(batch.forward().ok());
  ASSERT_TRUE(batch.backward().ok());
  EXPECT_NEAR(batch.losses.get(0), 2 + std::log1p(std::exp(-2.0)), 1e-6);
  const double probability = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(batch.grad_logits.get(0), probability, 1e-6);
  EXPECT_NEAR(batch.grad_logits.get(1), -probability, 1e-6);
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

// A23
TEST(CrossEntropy, RefusesATargetOutsideBeforeItWritesAnything) {
  for (const bool of_logits : {true, false}) {
    Batch batch(DType::kF32, 3000, 10);
    batch.of_logits = of_logits;
    batch.targets.set(2, kIgnored);
    for (const double bad : {12.0, 10.0, -1.0, -99.0}) {
      batch.targets.set(5, bad);
      const auto normalizers = batch.normalizers.bytes(), losses = batch.losses.bytes();
      const Status status = batch.forward(2);
      EXPECT_EQ(status.code, Code::kInvalidArgument);
      EXPECT_EQ(std::string(status.message),
                "targets[5]=" + std::to_string(static_cast<int64_t>(bad)) + " is outside [0, 10)");
      EXPECT_EQ(batch.normalizers.bytes(), normalizers);
      EXPECT_EQ(batch.losses.bytes(), losses);
    }
  }
}

TEST(CrossEntropy, GivesTheSameBitsOnAnyNumberOfThreads) {
  for_each_instruction_set([] {
    Batch one(DType::kF32, 3000, 17), two(DType::kF32, 3000, 17), seven(DType::kF32, 3000, 17);
    Batch* const batches[] = {&one, &two, &seven};
    const int threads[] = {1, 2, 7};
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(batches[i]->forward(threads[i]).ok());
      ASSERT_TRUE(batches[i]->backward(threads[i]).ok());
      EXPECT_EQ(batches[i]->losses.bytes(), one.losses.bytes());
      EXPECT_EQ(batches[i]->normalizers.bytes(), one.normalizers.bytes());
      EXPECT_EQ(batches[i]->grad_logits.bytes(), one.grad_logits.bytes());
    }
  });
}

}  // namespace
}  // namespace halftone
