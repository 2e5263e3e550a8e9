// One convolution for the kernel tests: random tensors of any dtype and strides, a plain reference in double for each
// pass, and the error bound of an FP32 sum. Used from one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/kernels/kernels.h"
#include "cpu/device.h"
#include "host_tensor.h"

namespace halftone {

// Memory order of an image.
enum class ImageOrder { kChannelsFirst, kChannelsLast, kGaps };

struct ConvShape {
  int64_t images;
  int64_t channels;  // over all groups, as is filters
  int64_t filters;
  int64_t size[2];
  int64_t kernel[2];
  ConvWindow window = {};
  int64_t groups = 1;
};

struct ConvExtras {
  bool bias = false;
  Store store = Store::kWrite;
  DType result = DType::kF32;  // dtype of the output
};

class ConvCase {
 public:
  // Inputs have `dtype`; extras.result is used only if dtype is not f64.
  ConvCase(const ConvShape& shape, ConvPass pass, DType dtype, ImageOrder order = ImageOrder::kChannelsFirst,
           const ConvExtras& extras = {});

  // The kernel rounds operands of FP32 to TF32.
  void round_to_tf32() { options_.rounds_to_tf32 = true; }
  // Runs the kernel on `threads` threads, in a workspace of exactly the requested size, between guard words.
  void run(int threads = 1);
  // Fails the test for every element of the result outside its bound, and if a guard word was overwritten.
  void expect_right() const;

  HostTensor& input() { return input_; }
  HostTensor& weight() { return weight_; }
  HostTensor& output() { return output_; }
  HostTensor& bias() { return bias_; }
  const HostTensor& result() const;
  ConvPass pass() const { return pass_; }
  const ConvArgs& args() const { return args_; }

 private:
  struct Sum {
    double value = 0;
    double magnitude = 0;  // sum of the absolute values of all terms; rounding errors are relative to it
    double terms = 0;
    void add(double term);
  };
  std::vector<Sum> expected() const;

  ConvShape shape_;
  ConvPass pass_;
  ConvExtras extras_;
  cpu::CpuOptions options_;
  HostTensor input_;
  HostTensor weight_;
  HostTensor output_;
  HostTensor bias_;
  std::vector<double> before_;  // the result before the run, for Store::kAdd
  ConvArgs args_;
};

}  // namespace halftone
