#include <gtest/gtest.h>

#include <vector>

#include "cpu/conv/conv_case.h"
#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight};
constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};
constexpr ImageOrder kOrders[] = {ImageOrder::kChannelsFirst, ImageOrder::kChannelsLast, ImageOrder::kGaps};

// Blocks that hold several images, one image, or some rows of one; windows that leave the image on every side, skip
// parts of it, never touch it, or are larger than it.
const ConvShape kShapes[] = {
    {1, 1, 1, {1, 1}, {1, 1}},
    {0, 2, 3, {4, 4}, {3, 3}},
    {2, 3, 4, {5, 7}, {3, 3}},
    {2, 3, 4, {5, 7}, {3, 2}, {{1, 1}, {1, 2}, {1, 1}}},
    {3, 2, 5, {9, 8}, {3, 3}, {{2, 2}, {1, 1}, {1, 1}}},
    {3, 2, 5, {9, 8}, {2, 3}, {{3, 1}, {0, 2}, {2, 3}}},
    {1, 2, 2, {3, 3}, {5, 5}, {{1, 2}, {4, 1}, {1, 1}}},
    {2, 4, 6, {6, 5}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}}, 2},
    {2, 6, 6, {7, 6}, {3, 3}, {{2, 1}, {1, 1}, {1, 1}}, 6},
    {2, 3, 6, {7, 6}, {3, 1}, {{1, 1}, {1, 0}, {2, 1}}, 3},
    {5, 7, 9, {6, 6}, {1, 1}},
    {2, 7, 9, {17, 15}, {1, 1}},
    {3, 7, 9, {6, 6}, {1, 1}, {{2, 2}, {0, 0}, {1, 1}}},
    {7, 3, 33, {14, 14}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}}},
    {2, 1, 3, {4, 4}, {1, 1}, {{9, 9}, {8, 8}, {1, 1}}},
    {2, 2, 3, {3, 75}, {3, 3}, {{2, 2}, {1, 1}, {1, 1}}},    // whole vectors of every second element
    {1, 2, 3, {5, 34}, {2, 2}, {{2, 2}, {0, 0}, {1, 1}}},    // one element more than a vector has
    {3, 2, 3, {9, 6}, {5, 5}, {{1, 1}, {2, 2}, {1, 1}}},     // positions lie as the elements do
    {5, 2, 3, {4, 4}, {3, 3}, {{1, 1}, {5, 5}, {5, 5}}},     // they do, and most taps are outside of the image
    {2, 2, 3, {5, 7}, {3, 3}, {{1, 1}, {0, 3}, {2, 3}}},     // they do, in fewer rows than the image has
    {1, 45, 2, {16, 16}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}}},  // L2 cannot hold the patches of all channels
};

// One image has more positions than a block holds: 145 rows of it at 900 taps.
const ConvShape kTallShape = {2, 100, 5, {40, 35}, {3, 3}, {{1, 1}, {1, 1}, {1, 1}}};

// Runs `body` on every instruction set without dot products of BF16 pairs, then with them if this CPU has them.
template <class Body>
void for_each_way(Body&& body) {
  cpu::set_dot_use_for_test(cpu::DotUse::kNever);
  for_each_instruction_set(body);
  if ((hwy::SupportedTargets() & HWY_AVX3) != 0 && cpu::has_dot()) {
    SCOPED_TRACE("dot products");
    cpu::set_dot_use_for_test(cpu::DotUse::kAlways);
    body();
  }
  cpu::set_dot_use_for_test(cpu::DotUse::kWhereFaster);
}

void check(const ConvShape& shape, ConvPass pass, DType dtype, ImageOrder order = ImageOrder::kChannelsFirst,
           const ConvExtras& extras = {}) {
  SCOPED_TRACE(testing::Message() << "pass " << static_cast<int>(pass) << ", dtype " << static_cast<int>(dtype)
                                  << ", order " << static_cast<int>(order) << ", " << shape.channels << " channels of "
                                  << shape.size[0] << " x " << shape.size[1] << " to " << shape.filters);
  ConvCase test(shape, pass, dtype, order, extras);
  test.run();
  test.expect_right();
}

TEST(Conv, SlidesEveryWindowOverEveryShape) {
  for_each_way([] {
    for (const ConvPass pass : kPasses) {
      for (const ConvShape& shape : kShapes) {
        for (const DType dtype : kDTypes) check(shape, pass, dtype);
      }
    }
  });
}

TEST(Conv, ReadsImagesOfAnyStrides) {
  for_each_way([] {
    for (const ConvPass pass : kPasses) {
      for (const ConvShape& shape : kShapes) {
        for (const ImageOrder order : kOrders) check(shape, pass, DType::kBF16, order);
        check(shape, pass, DType::kF64, ImageOrder::kGaps);
      }
    }
  });
}

TEST(Conv, RoundsOnceToAnyDtype) {
  for (const ConvPass pass : kPasses) {
    for (const ConvShape& shape : kShapes) {
      for (const DType result : {DType::kF32, DType::kF16, DType::kBF16}) {
        for (const DType dtype : {DType::kF32, DType::kBF16}) {
          check(shape, pass, dtype, ImageOrder::kChannelsFirst, {false, Store::kWrite, result});
        }
      }
    }
  }
}

TEST(Conv, AddsABiasToEachChannelOfWhatItWrites) {
  for (const ConvPass pass : {ConvPass::kForward, ConvPass::kGradInput}) {
    for (const ConvShape& shape : kShapes) {
      for (const DType dtype : kDTypes) {
        check(shape, pass, dtype, ImageOrder::kChannelsFirst, {true, Store::kWrite, dtype});
      }
    }
  }
}

TEST(Conv, AddsToTheGradientOfWeightsThatIsThere) {
  for (const ConvShape& shape : kShapes) {
    for (const DType dtype : kDTypes) {
      for (const ImageOrder order : kOrders) check(shape, ConvPass::kGradWeight, dtype, order, {false, Store::kAdd});
    }
  }
}

TEST(Conv, CutsTallImagesIntoBlocksOfRows) {
  for_each_way([] {
    for (const ConvPass pass : kPasses) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) check(kTallShape, pass, dtype);
    }
  });
}

TEST(Conv, GivesTheSameBitsOnEveryNumberOfThreads) {
  std::vector<ConvShape> shapes(std::begin(kShapes), std::end(kShapes));
  shapes.push_back(kTallShape);
  shapes.push_back({1, 20, 30, {12, 12}, {3, 3}});  // one unit: the threads share its product
  for (const ConvPass pass : kPasses) {
    for (const ConvShape& shape : shapes) {
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
        ConvCase alone(shape, pass, dtype);
        alone.run(1);
        for (const int threads : {2, 5}) {
          ConvCase together(shape, pass, dtype);
          together.run(threads);
          EXPECT_EQ(together.result().bytes(), alone.result().bytes());
        }
      }
    }
  }
}

}  // namespace
}  // namespace halftone
