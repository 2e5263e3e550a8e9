// Convolutions on the CUDA device that are matrix products of columns, in several tiles, against a reference in double.
#include "chosen_cudnn.h"
#include "conv_on_cuda.h"

namespace halftone {
namespace {

// On the emulated device 1638 positions of these shapes fit into a tile.
constexpr ConvShape kSeveralTiles = {5, 16, 16, {24, 24}, {3, 3}, {.padding = {1, 1}}};
constexpr ConvShape kLargeImage = {1, 16, 16, {48, 48}, {3, 3}, {.padding = {1, 1}}};
constexpr ConvShape kOneByOne = {3, 48, 40, {22, 23}, {1, 1}};
constexpr ConvShape kGroups = {3, 32, 48, {30, 37}, {3, 2}, {.stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 3}},
                               2};

class ConvOnCuda : public ConvOnCudaTest {
 protected:
  // Returns the count of products of cuBLASLt that the case took.
  int64_t check(const ConvShape& shape, ConvPass pass, DType dtype, ImageOrder order = ImageOrder::kChannelsFirst,
                const ConvExtras& extras = {}) {
    ConvCase test(shape, pass, dtype, order, extras);
    const int64_t before = products();
    run(test);
    test.expect_right();
    return products() - before;
  }

  // The products of cuBLASLt so far; 0 on a GPU, which counts none.
  static int64_t products() { return is_emulated() ? emulation_function<int64_t()>("cuda_emulation_products")() : 0; }
  static int64_t emulated(int64_t count) { return is_emulated() ? count : 0; }

 private:
  const ChosenCudnn none_{""};  // cuDNN would take these convolutions
};

TEST_F(ConvOnCuda, TakesSeveralTilesOfImages) {
  // The gradient of the input reads the output in place, image by image.
  EXPECT_EQ(check(kSeveralTiles, ConvPass::kForward, DType::kF32), emulated(3));
  EXPECT_EQ(check(kSeveralTiles, ConvPass::kGradWeight, DType::kF32), emulated(3));
  EXPECT_EQ(check(kSeveralTiles, ConvPass::kGradInput, DType::kF32), emulated(5));
  EXPECT_EQ(check(kSeveralTiles, ConvPass::kGradInput, DType::kF32, ImageOrder::kGaps), emulated(3));
}

TEST_F(ConvOnCuda, ConvolvesInF64) {
  for (const ConvPass pass : kPasses) EXPECT_EQ(check(kSeveralTiles, pass, DType::kF64), emulated(5));
}

TEST_F(ConvOnCuda, ConvolvesGroupsOf16BitNumbers) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const ConvPass pass : kPasses) {
      const ConvExtras extras = {.bias = pass != ConvPass::kGradWeight, .result = dtype};
      EXPECT_GE(check(kGroups, pass, dtype, ImageOrder::kGaps, extras), emulated(4));
    }
  }
}

TEST_F(ConvOnCuda, ReadsImagesInPlaceUnderWindowsOfOneElement) {
  for (const ConvPass pass : kPasses) {
    const bool writes_weight = pass == ConvPass::kGradWeight;
    const ConvExtras extras = {.bias = !writes_weight};
    EXPECT_EQ(check(kOneByOne, pass, DType::kBF16, ImageOrder::kChannelsFirst, extras),
              emulated(writes_weight ? 1 : 3));
    EXPECT_EQ(check(kOneByOne, pass, DType::kBF16, ImageOrder::kChannelsLast, extras), emulated(1));
    ConvShape one_image = kOneByOne;
    one_image.images = 1;
    one_image.filters = 48;
    EXPECT_EQ(check(one_image, pass, DType::kF32, ImageOrder::kChannelsFirst, extras), emulated(1));
  }
}

// The loops compute the gradient of the input, whose tiles are whole images.
TEST_F(ConvOnCuda, CutsLargeImages) {
  EXPECT_EQ(check(kLargeImage, ConvPass::kForward, DType::kF32), emulated(2));
  EXPECT_EQ(check(kLargeImage, ConvPass::kGradWeight, DType::kF32), emulated(2));
  EXPECT_EQ(check(kLargeImage, ConvPass::kGradInput, DType::kF32), 0);
}

TEST_F(ConvOnCuda, AddsToAWeightOfAnyStrides) {
  for (const ImageOrder order : {ImageOrder::kChannelsLast, ImageOrder::kGaps}) {
    check(kSeveralTiles, ConvPass::kGradWeight, DType::kF16, order, {.store = Store::kAdd, .result = DType::kBF16});
  }
}

// Each tile holds one half of a sum whose halves nearly cancel; rounding one of them to bf16 could be 4 off.
TEST_F(ConvOnCuda, AddsTilesInFp32) {
  ConvCase test(kSeveralTiles, ConvPass::kGradWeight, DType::kBF16, ImageOrder::kChannelsFirst,
                {.result = DType::kBF16});
  for (int64_t i = 0; i < test.output().numel(); ++i) test.output().set(i, 1);
  const int64_t image = test.input().numel() / 5;
  for (int64_t i = 0; i < test.input().numel(); ++i) {
    const int64_t n = i / image;
    test.input().set(i, n == 4  ? 0
                        : n < 2 ? 1 + static_cast<double>(i % 3) / 64
                                : -1 - static_cast<double>(i % 5) / 64);
  }
  run(test);
  test.expect_right();
}

TEST_F(ConvOnCuda, GivesTheSameBitsAgain) { expect_same_bits_again(kSeveralTiles); }

TEST_F(ConvOnCuda, LoopsOverFewChannelsAndNoImages) {
  for (const ConvPass pass : kPasses) {
    EXPECT_EQ(check({4, 24, 24, {20, 20}, {3, 3}, {.padding = {1, 1}}, 24}, pass, DType::kF32), 0);
    EXPECT_EQ(check({0, 16, 16, {24, 24}, {3, 3}}, pass, DType::kF32), 0);
  }
}

}  // namespace
}  // namespace halftone
