// One convolution for the kernels' tests: random tensors of any dtype and strides, a plain reference in double for each
// pass, and the bound that the errors of an FP32 sum keep. Used from one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/kernels.h"
#include "host_tensor.h"

namespace halftone {

// How an image lies in memory.
enum class ImageOrder { kChannelsFirst, kChannelsLast, kGaps };

struct ConvShape {
  int64_t images;
  int64_t channels;  // of all groups, as are filters
  int64_t filters;
  int64_t size[2];
  int64_t kernel[2];
  ConvWindow window = {};
  int64_t groups = 1;
};

struct ConvExtras {
  bool bias = false;
  Store store = Store::kWrite;
  DType result = DType::kF32;  // of what the pass writes
};

class ConvCase {
 public:
  // What is read has `dtype`; extras.result is taken only where dtype is not f64.
  ConvCase(const ConvShape& shape, ConvPass pass, DType dtype, ImageOrder order = ImageOrder::kChannelsFirst,
           const ConvExtras& extras = {});

  // Runs the kernel on `threads` threads, in a workspace of just the size that it asked for, between guards.
  void run(int threads = 1);
  // Fails the test for every element of the result outside its bound, and where a guard was written.
  void expect_right() const;

  const HostTensor& result() const;

 private:
  struct Sum {
    double value = 0;
    double magnitude = 0;  // of all terms: what rounding errors are relative to
    double terms = 0;
    void add(double term);
  };
  std::vector<Sum> expected() const;

  ConvShape shape_;
  ConvPass pass_;
  ConvExtras extras_;
  HostTensor input_;
  HostTensor weight_;
  HostTensor output_;
  HostTensor bias_;
  std::vector<double> before_;  // the result, for Store::kAdd
  ConvArgs args_;
};

}  // namespace halftone
