// Convolutions of ConvCase on the CUDA device. Used from one thread.
#pragma once

#include "cpu/conv/conv_case.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"

namespace halftone {

inline constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight};

class ConvOnCudaTest : public RoomTest {
 protected:
  // Runs the case in a workspace of exactly the size that was asked for, which begins as NaN. `other` is a tensor of
  // args that is none of the case's. Returns the status of the convolution.
  Status run_once(ConvCase& test, ConvArgs args, const HostTensor* other = nullptr) {
    DeviceCopies copies(*cuda_device(context()).device);
    if (other != nullptr) copies.send(*other);
    for (HostTensor* tensor : {&test.input(), &test.weight(), &test.output(), &test.bias()}) copies.send(*tensor);
    for (View* view : {&args.input, &args.weight, &args.output, &args.bias}) {
      view->data = copies.at(static_cast<std::byte*>(view->data));
    }
    const ConvKernels& conv = copies.kernels().conv;
    const size_t size = conv.workspace(copies.stream(), test.pass(), args);
    std::vector<std::byte> workspace(size + kGuard, std::byte{0xff});
    std::byte* const there = copies.send(workspace.data(), workspace.size());
    const int64_t waits = cuda_waits();
    const Status status = conv.run(copies.stream(), test.pass(), args, there);
    EXPECT_EQ(cuda_waits(), waits);
    EXPECT_TRUE(copies.fetch().ok());
    for (size_t i = size; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], std::byte{0xff}) << "behind the workspace";
    return status;
  }

  void run(ConvCase& test) { ASSERT_TRUE(run_once(test, test.args()).ok()); }

  void expect_same_bits_again(const ConvShape& shape) {
    for (const ConvPass pass : kPasses) {
      ConvCase first(shape, pass, DType::kF32), second(shape, pass, DType::kF32);
      run(first);
      run(second);
      for (int64_t i = 0; i < first.result().numel(); ++i) ASSERT_EQ(first.result().get(i), second.result().get(i));
    }
  }

 private:
  static constexpr size_t kGuard = 64;
};

}  // namespace halftone
