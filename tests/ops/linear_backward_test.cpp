// The gradient of a bias comes from the product that gives the weight's, which reads the same matrix.
#include "autograd/engine.h"
#include "autograd/leaf/accumulate_grad.h"
#include "ops/matmul/matmul.h"
#include "probe_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

GemmKernels real_gemm;
ReduceKernels real_reduce;
int products_with_sums;
int separate_sums;

Status run_and_count(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  if (args.sums_of_a.data != nullptr) ++products_with_sums;
  return real_gemm.run(stream, args, schedule, workspace);
}

Status sum_and_count(Stream& stream, const View& in, double scale, Store store, const View& out) noexcept {
  ++separate_sums;
  return real_reduce.sum(stream, in, scale, store, out);
}

class LinearBackward : public RoomTest {
 protected:
  // The gradient of the bias of a layer from [rows, in] to [rows, 3] has `rows` in each element.
  void expect_bias_gradient(int64_t rows, int64_t in, bool trains_weight) {
    ProbeDevice probe(device());
    real_gemm = probe.table().gemm;
    real_reduce = probe.table().reduce;
    probe.table().gemm.run = run_and_count;
    probe.table().reduce.sum = sum_and_count;
    products_with_sums = separate_sums = 0;
    const Tensor x = full(device(), DType::kF32, {rows, in}, 0.5);
    const Tensor weight = full(device(), DType::kF32, {3, in}, 2.0);
    const Tensor bias = full(device(), DType::kF32, {3}, 1.0);
    set_requires_grad(weight, trains_weight);
    set_requires_grad(bias, true);
    run_backward(ops::linear(x, weight, bias), full(device(), DType::kF32, {rows, 3}, 1.0), false);
    EXPECT_EQ(values(accumulator_of(bias)->grad()), std::vector<double>(3, static_cast<double>(rows)));
  }
};

TEST_F(LinearBackward, AddsUpTheGradientOfItsBiasWithinTheProduct) {
  expect_bias_gradient(5, 40, true);
  EXPECT_EQ(products_with_sums, 1);
  EXPECT_EQ(separate_sums, 0);
}

TEST_F(LinearBackward, AddsUpTheGradientOfItsBiasAloneWithoutAProduct) {
  expect_bias_gradient(5, 40, false);
  EXPECT_EQ(products_with_sums, 0);
  EXPECT_EQ(separate_sums, 1);
  expect_bias_gradient(5, 0, true);
  EXPECT_EQ(products_with_sums, 0);
  EXPECT_EQ(separate_sums, 1);
}

}  // namespace
}  // namespace halftone
