// Convolutions by cuDNN on the CUDA device, against a reference in double: where they go, and what happens if cuDNN
// refuses or fails. On a GPU with cuDNN the values are checked, and nothing is counted.
#include "chosen_cudnn.h"
#include "conv_on_cuda.h"
#include "emulated_cudnn.h"

namespace halftone {
namespace {

using cuda::DnnStatus;

constexpr ConvShape kUsual = {3, 16, 24, {13, 12}, {3, 3}, {.padding = {1, 1}}};
constexpr ConvShape kUneven = {2, 6, 4, {11, 9}, {3, 2}, {.stride = {2, 1}, .padding = {2, 1}, .dilation = {2, 3}}, 2};
constexpr ConvShape kDepthwise = {2, 8, 8, {7, 9}, {3, 3}, {.stride = {2, 2}, .padding = {1, 1}}, 8};
constexpr ConvShape kLine = {2, 3, 5, {1, 17}, {1, 4}, {.stride = {1, 3}}};
constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

class DnnOnCuda : public ConvOnCudaTest {
 protected:
  DnnOnCuda() {
    if (is_emulated()) chosen_.emplace(CUDNN_EMULATION);
  }
  ~DnnOnCuda() override { answer_all(DnnStatus::kSuccess); }

  // Returns the count of convolutions that cuDNN computed.
  int64_t check(ConvCase& test, const ConvArgs& args, const HostTensor* other = nullptr) {
    const int64_t before = dnn_count("calls");
    EXPECT_TRUE(run_once(test, args, other).ok());
    test.expect_right();
    return dnn_count("calls") - before;
  }
  int64_t check(const ConvShape& shape, ConvPass pass, DType dtype, const ConvExtras& extras,
                ImageOrder order = ImageOrder::kChannelsFirst) {
    ConvCase test(shape, pass, dtype, order, extras);
    return check(test, test.args());
  }
  int64_t check(const ConvShape& shape, ConvPass pass, DType dtype) {
    return check(shape, pass, dtype, {.result = dtype});
  }
  static int64_t emulated(int64_t count) { return is_emulated() ? count : 0; }

 private:
  std::optional<ChosenCudnn> chosen_;
};

TEST_F(DnnOnCuda, ConvolvesInOneDtypeAndDenseMemory) {
  for (const ConvShape& shape : {kUsual, kUneven, kDepthwise, kLine}) {
    for (const DType dtype : kTypes) {
      for (const ConvPass pass : kPasses) EXPECT_EQ(check(shape, pass, dtype), emulated(1));
    }
  }
}

TEST_F(DnnOnCuda, LeavesOthersToTheDevicesOwnKernels) {
  for (const ConvPass pass : kPasses) {
    EXPECT_EQ(check(kUsual, pass, DType::kF64), 0);
    EXPECT_EQ(check(kUsual, pass, DType::kF32, {.result = DType::kBF16}), 0);
    EXPECT_EQ(check({0, 16, 16, {24, 24}, {3, 3}}, pass, DType::kF32), 0);
    // The device's products read these in place.
    EXPECT_EQ(check({2, 16, 16, {9, 9}, {1, 1}}, pass, DType::kF16, {.result = DType::kF32}), 0);
  }
}

TEST_F(DnnOnCuda, WidensOperandsForResultsOfFp32) {
  for (const ConvShape& shape : {kUsual, kUneven}) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      for (const ConvPass pass : kPasses) {
        EXPECT_EQ(check(shape, pass, dtype, {.bias = pass != ConvPass::kGradWeight}), emulated(1));
      }
    }
  }
}

TEST_F(DnnOnCuda, CopiesOperandsThatAreNotDense) {
  for (const ImageOrder order : {ImageOrder::kChannelsLast, ImageOrder::kGaps}) {
    for (const DType dtype : kTypes) {
      EXPECT_EQ(check(kUneven, ConvPass::kForward, dtype, {.result = dtype}, order), emulated(1));
      EXPECT_EQ(check(kUneven, ConvPass::kGradInput, dtype, {.result = dtype}, order), emulated(1));
      EXPECT_EQ(check(kUneven, ConvPass::kGradWeight, dtype, {.result = dtype}, order), 0) << "a result is not dense";
    }
  }
}

// The case's bias has a stride of 2.
TEST_F(DnnOnCuda, AddsABiasBeforeItRounds) {
  for (const DType dtype : kTypes) {
    const ConvExtras extras = {.bias = true, .result = dtype};
    EXPECT_EQ(check(kUsual, ConvPass::kForward, dtype, extras), emulated(1));
    ConvCase test(kUsual, ConvPass::kForward, dtype, ImageOrder::kChannelsFirst, extras);
    HostTensor bias(dtype, {kUsual.filters});
    for (int64_t i = 0; i < bias.numel(); ++i) bias.set(i, test.bias().get(i));
    ConvArgs args = test.args();
    args.bias = bias.view();
    EXPECT_EQ(check(test, args, &bias), emulated(1));
  }
}

TEST_F(DnnOnCuda, AddsToResultsOfFp32Alone) {
  for (const DType dtype : kTypes) {
    const int64_t count = emulated(dtype == DType::kF32 ? 1 : 0);
    EXPECT_EQ(check(kUneven, ConvPass::kGradWeight, dtype, {.store = Store::kAdd, .result = dtype}), count);
    EXPECT_EQ(check(kUneven, ConvPass::kGradInput, dtype, {.bias = true, .result = dtype}), count);
  }
}

// 1 + 2^-12 is 1 in TF32.
TEST_F(DnnOnCuda, RoundsOperandsToTf32OnlyWhereThatIsAllowed) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: on a GPU the choice between both arithmetics is cuDNN's";
  for (const bool is_allowed : {false, true}) {
    ASSERT_TRUE(cuda_device(context()).device->set_option(DeviceOption::kTf32Products, is_allowed ? 1 : 0).ok());
    ConvCase test({1, 1, 1, {4, 4}, {1, 1}}, ConvPass::kForward, DType::kF32);
    for (int64_t i = 0; i < 16; ++i) test.input().set(i, 1 + 0x1p-12);
    test.weight().set(0, 1);
    run(test);
    for (int64_t i = 0; i < 16; ++i) ASSERT_EQ(test.output().get(i), is_allowed ? 1 : 1 + 0x1p-12);
  }
}

TEST_F(DnnOnCuda, SearchesOnceForAProblemAndFreesItsDescriptors) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated cuDNN counts";
  ASSERT_EQ(check(kUsual, ConvPass::kForward, DType::kF16), 1);
  const int64_t searches = dnn_count("searches"), live = dnn_count("live"), contexts = dnn_count("contexts");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(check(kUsual, ConvPass::kForward, DType::kF16), 1);
  EXPECT_EQ(dnn_count("searches"), searches);
  check(kUneven, ConvPass::kForward, DType::kF16);
  EXPECT_EQ(dnn_count("searches"), searches + 1);
  EXPECT_EQ(dnn_count("live"), live);
  EXPECT_EQ(dnn_count("contexts"), contexts);
}

TEST_F(DnnOnCuda, GivesTheSameBitsAgain) { expect_same_bits_again(kUsual); }

TEST_F(DnnOnCuda, TakesAnotherWayWhereCudnnRefusesItsOwnChoice) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated cuDNN refuses on demand";
  answer_all(DnnStatus::kNotSupported);
  for (const ConvPass pass : kPasses) {
    for (const ConvShape& shape : {kUsual, kUneven}) {
      for (const DType dtype : kTypes) EXPECT_EQ(check(shape, pass, dtype), 0);
    }
  }
  EXPECT_EQ(check(kUneven, ConvPass::kGradInput, DType::kF32, {.bias = true}), 0);
  EXPECT_EQ(check(kUneven, ConvPass::kGradWeight, DType::kBF16, {.store = Store::kAdd}), 0);
  answer_all(DnnStatus::kSuccess);
  EXPECT_EQ(check(kUneven, ConvPass::kForward, DType::kF32), 0) << "a refused problem stays refused";
  EXPECT_EQ(check(kDepthwise, ConvPass::kForward, DType::kF32), 1);
}

TEST_F(DnnOnCuda, NamesTheFunctionThatFails) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated cuDNN fails on demand";
  ConvCase test(kUsual, ConvPass::kGradWeight, DType::kF32);
  answer_all(static_cast<DnnStatus>(5000));
  Status status = run_once(test, test.args());
  EXPECT_EQ(status.code, Code::kDevice);
  EXPECT_EQ(status.native_code, 5000);
  EXPECT_STREQ(status.message, "cudnnConvolutionBackwardFilter: status 5000 (CUDNN_STATUS_OTHER)");
  answer_all(DnnStatus::kSuccess);
  run(test);
  // After a success the workspace serves cuDNN alone, so a refusal is an error.
  answer_all(DnnStatus::kNotSupported);
  status = run_once(test, test.args());
  EXPECT_EQ(status.native_code, 3000);
}

TEST_F(DnnOnCuda, RunsAsPartOfAGraph) {
  ConvCase test(kUsual, ConvPass::kForward, DType::kBF16, ImageOrder::kChannelsFirst, {.result = DType::kBF16});
  run(test);
  Device& cuda = *cuda_device(context()).device;
  DeviceCopies copies(cuda);
  ConvArgs args = test.args();
  for (HostTensor* tensor : {&test.input(), &test.weight(), &test.output()}) copies.send(*tensor);
  for (View* view : {&args.input, &args.weight, &args.output}) {
    view->data = copies.at(static_cast<std::byte*>(view->data));
  }
  std::vector<std::byte> workspace(cuda.kernels().conv.workspace(copies.stream(), test.pass(), args) + 1);
  std::byte* const there = copies.send(workspace.data(), workspace.size());
  ASSERT_TRUE(copies.stream().synchronize().ok());
  ASSERT_TRUE(cuda.begin_recording(copies.stream()).ok());
  EXPECT_TRUE(cuda.kernels().conv.run(copies.stream(), test.pass(), args, there).ok());
  RecordedWork* work = nullptr;
  ASSERT_TRUE(cuda.end_recording(copies.stream(), &work).ok());
  for (int replay = 0; replay < 2; ++replay) {
    ASSERT_TRUE(cuda.kernels().convert.fill(copies.stream(), 0, args.output).ok());
    ASSERT_TRUE(work->run(copies.stream()).ok());
    ASSERT_TRUE(copies.fetch().ok());
    test.expect_right();
  }
  work->destroy();
}

class DnnLibraryOnCuda : public DnnOnCuda, public testing::WithParamInterface<const char*> {};

TEST_P(DnnLibraryOnCuda, ThatCannotServeLeavesAllToTheDevicesOwnKernels) {
  const ChosenCudnn chosen(GetParam());
  const int64_t contexts = dnn_count("contexts");
  for (const ConvPass pass : kPasses) EXPECT_EQ(check(kUsual, pass, DType::kF32), 0);
  EXPECT_EQ(dnn_count("contexts"), contexts);
}

std::string name_of_library(const testing::TestParamInfo<const char*>& info) {
  return std::vector<std::string>{"none", "missing", "another"}[info.index];
}
INSTANTIATE_TEST_SUITE_P(Names, DnnLibraryOnCuda, testing::Values("", "/nowhere/libcudnn.so.9", "libm.so.6"),
                         name_of_library);

}  // namespace
}  // namespace halftone
