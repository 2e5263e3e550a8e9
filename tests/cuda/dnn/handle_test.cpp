// The outcomes that a device's handle of cuDNN remembers.
#include "cuda/dnn/handle.h"

#include <gtest/gtest.h>

#include "chosen_cudnn.h"
#include "failing_allocations.h"

namespace halftone::cuda {
namespace {

DnnProblem problem_of(int32_t images) {
  return {.type = DnnType::kHalf,
          .math = DnnMath::kTensor,
          .input = {images, 8, 9, 9},
          .weight = {8, 8, 3, 3},
          .output = {images, 8, 7, 7},
          .stride = {1, 1},
          .dilation = {1, 1}};
}

// M1. A convolution asks for its way twice, for its scratch and when it runs: both times it must get one outcome.
TEST(DnnHandle, GivesOneOutcomeForAProblemThatItCouldNotRemember) {
  const ChosenCudnn chosen(CUDNN_EMULATION);
  DnnHandle handle(0);
  DnnChoice choice;
  ASSERT_TRUE(handle.choose(problem_of(1), &choice));
  fail_allocation(0, 0);
  EXPECT_FALSE(handle.choose(problem_of(2), &choice));
  ignore_allocations();
  EXPECT_TRUE(has_allocation_failed());
  EXPECT_FALSE(handle.choose(problem_of(2), &choice));
  EXPECT_TRUE(handle.choose(problem_of(1), &choice)) << "which is remembered";
}

}  // namespace
}  // namespace halftone::cuda
