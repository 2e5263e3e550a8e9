// Convolutions that round to TF32: bitwise those of tensors that were rounded before.
#include "core/number/tf32.h"

#include <gtest/gtest.h>

#include "cpu/conv/conv_case.h"

namespace halftone {
namespace {

void round_elements(HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, round_to_tf32(static_cast<float>(tensor.get(i))));
}

// The result of a pass is written, so rounding it before has no effect.
TEST(Tf32Conv, IsTheConvolutionOfRoundedTensors) {
  const ConvShape shapes[] = {
      {.images = 2, .channels = 3, .filters = 5, .size = {9, 11}, .kernel = {3, 3}},
      {.images = 2, .channels = 6, .filters = 4, .size = {8, 8}, .kernel = {1, 1}, .groups = 2},
  };
  for (const ConvShape& shape : shapes) {
    for (const ConvPass pass : {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight}) {
      ConvCase test(shape, pass, DType::kF32);
      test.round_to_tf32();
      test.run();
      ConvCase wanted(shape, pass, DType::kF32);
      for (HostTensor* tensor : {&wanted.input(), &wanted.weight(), &wanted.output()}) round_elements(*tensor);
      wanted.run();
      EXPECT_EQ(test.result().bytes(), wanted.result().bytes());
      ConvCase plain(shape, pass, DType::kF32);
      plain.run();
      EXPECT_NE(test.result().bytes(), plain.result().bytes());
    }
  }
}

}  // namespace
}  // namespace halftone
