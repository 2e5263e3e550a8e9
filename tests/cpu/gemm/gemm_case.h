// One matrix product for the GEMM tests: random operands of any dtypes and layouts, a plain reference in double, and
// the error bound of an FP32 sum. Used from one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/kernels/kernels.h"
#include "cpu/device.h"
#include "host_tensor.h"

namespace halftone {

// Memory order of a matrix. kGaps leaves gaps after each row and between its elements.
enum class Order { kRows, kColumns, kSlice, kGaps };

struct GemmShape {
  int64_t m;
  int64_t n;
  int64_t k;
};

struct GemmDTypes {
  DType a = DType::kF32;
  DType b = DType::kF32;
  DType c = DType::kF32;
};

struct GemmExtras {
  bool bias = false;
  bool residual = false;
  Store store = Store::kWrite;
  DType dtype = DType::kF32;  // dtype of bias and residual
  GemmActivation activation = GemmActivation::kNone;
  bool sum = false;       // asks for the activation's argument
  bool argument = false;  // multiplies by the activation's derivative instead
  bool sums_of_a = false;
  Store sums_store = Store::kWrite;
  DType sums_dtype = DType::kF32;
  double activation_error = 0;  // of an activation that may be less precise than ours, relative to its argument
};

class GemmCase {
 public:
  GemmCase(const GemmShape& shape, const GemmDTypes& dtypes, Order a = Order::kRows, Order b = Order::kRows,
           Order c = Order::kRows, const GemmExtras& extras = {});

  HostTensor& a() { return a_; }
  HostTensor& b() { return b_; }
  HostTensor& c() { return c_; }
  HostTensor& bias() { return bias_; }
  HostTensor& residual() { return residual_; }
  HostTensor& sum() { return sum_; }
  HostTensor& argument() { return argument_; }
  HostTensor& sums_of_a() { return sums_of_a_; }
  const GemmArgs& args() const { return args_; }

  // The kernel reads these instead of a() and b(), which must hold the same values.
  void replace_operands(const View& a, const View& b);
  // The kernel rounds operands of FP32 to TF32.
  void round_to_tf32() { args_.rounds_to_tf32 = true; }
  // Runs the kernel on `threads` threads, in a workspace of exactly the requested size, between guard words.
  void run(int threads = 1);
  // Fails the test for every element of c outside its bound, and if a guard word was overwritten.
  void expect_right() const;

 private:
  using Values = std::vector<double>;
  // Fails the test for the element `i` of `output` if it is outside its bound. Returns whether it is right.
  bool expect_element(const HostTensor& output, int64_t i, double wanted, double error) const;
  // The value of element `i` of c for a sum of `wanted` within `error`, which becomes the value's.
  double finished(int64_t i, double wanted, double* error) const;
  void expect_sums_of_a(const Values& a, double unit) const;
  double expected(const Values& a, const Values& b, int64_t row, int64_t column, double* magnitude) const;

  GemmShape shape_;
  GemmExtras extras_;
  HostTensor a_;
  HostTensor b_;
  HostTensor c_;
  HostTensor bias_;
  HostTensor residual_;
  HostTensor sum_;
  HostTensor argument_;
  HostTensor sums_of_a_;
  GemmArgs args_;
  // c and the sums of a before the run, for Store::kAdd
  Values before_;
  Values sums_before_;
};

}  // namespace halftone
