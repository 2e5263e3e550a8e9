// Every operation and its gradients on the CUDA device: the values of the reference, the CPU's gradients, and no wait
// on the way.
#include <cmath>
#include <string>

#include "array_slack.h"
#include "chosen_cudnn.h"
#include "cuda_device.h"
#include "no_gradient.h"
#include "op_call.h"
#include "room_fixture.h"

namespace halftone {
namespace {

// The results of a call, then the gradients of its inputs that have one.
struct Outcome {
  Tensors results;
  Tensors gradients;
};

class OpsOnCuda : public RoomTest, public testing::WithParamInterface<int> {
 protected:
  ContextDevice& cuda() { return cuda_device(*there_); }

  static void run_backward_of(const Tensors& results, ContextDevice& device) {
    for (size_t k = 0; k < results.size(); ++k) {
      if (!requires_grad(results[k])) continue;
      const Draw draw = distinct(31 * static_cast<int>(k));
      const Array weights = draw_input({draw}, results[k].dtype(), {results[k].shape()}, 0, Layout::kContiguous);
      const LaidInput gradient(device, results[k].dtype(), weights, Layout::kContiguous);
      run_backward(results[k], gradient.tensor(), true);
    }
  }

  static Outcome outcome(const OpCase& op_case, ContextDevice& device, DType dtype, const Arrays& inputs,
                         const Arrangement& arrangement) {
    OpCall call(op_case, device, dtype, inputs, arrangement);
    if (leads_gradients(op_case.op)) call.require_gradients();
    const int64_t waits = cuda_waits();
    Outcome outcome = {call.run(), {}};
    run_backward_of(outcome.results, device);
    // A number that the shape depends on is read into memory that is not pinned, which waits, and then the library
    // waits.
    EXPECT_LE(cuda_waits(), waits + (has_shape_of_values(op_case.op) ? 2 : 0));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const AccumulateGrad* leaf = accumulator_of(call.input(i));
      if (leaf != nullptr && leaf->has_grad()) outcome.gradients.push_back(leaf->grad());
    }
    EXPECT_TRUE(call.inputs_are_unchanged());
    return outcome;
  }

  static void expect_values(const Tensor& result, const Array& expected, bool is_exact) {
    ASSERT_TRUE(result.shape() == expected.shape);
    const std::vector<double> actual = elements_of(result);
    for (size_t i = 0; i < actual.size(); ++i) {
      const double wanted = expected.values[i];
      const double slack = slack_of(expected, i, result.dtype());
      const bool is_right = is_exact ? actual[i] == wanted || (std::isnan(actual[i]) && std::isnan(wanted))
                                     : is_within(actual[i], wanted, slack, result.dtype());
      ASSERT_TRUE(is_right) << "element " << i << " is " << actual[i] << ", not " << wanted;
    }
  }

  // The CPU's gradients are compared with finite differences elsewhere. Two devices may add thousands of terms in
  // another order, so an error counts against the largest element, as that of many operations. Both round at the end.
  static constexpr double kOrderError = 32 * kFunctionError;
  static void expect_gradient(const Tensor& actual, const Tensor& expected, const OpCase& op_case) {
    ASSERT_EQ(name_of(actual.dtype()), name_of(expected.dtype()));
    const std::vector<double> here = elements_of(actual);
    const std::vector<double> there = elements_of(expected);
    double largest = op_case.slope_terms;
    for (const double value : there) {
      if (std::isfinite(value)) largest = std::fmax(largest, std::fabs(value));
    }
    const double rounding = half_step(actual.dtype()).relative / half_step(compute_dtype(actual.dtype())).relative;
    const double slack = (op_case.gradient_roundings + 3) * (kOrderError + rounding) * largest;
    for (size_t i = 0; i < here.size(); ++i) {
      ASSERT_TRUE(is_within(here[i], there[i], slack, actual.dtype()))
          << "gradient " << i << " is " << here[i] << ", not " << there[i];
    }
  }

  void expect_right(const OpCase& op_case, DType dtype, const Shapes& shapes, const Arrangement& arrangement) {
    SCOPED_TRACE(describe(op_case, dtype, shapes) + " " + arrangement.name);
    const Arrays inputs = draw_inputs(op_case, dtype, shapes, arrangement);
    const Outcome actual = outcome(op_case, cuda(), dtype, inputs, arrangement);
    const Arrays expected = op_case.reference(inputs);
    ASSERT_EQ(actual.results.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) expect_values(actual.results[k], expected[k], op_case.is_exact);
    const Outcome cpu = outcome(op_case, device(), dtype, inputs, arrangement);
    ASSERT_EQ(actual.gradients.size(), cpu.gradients.size());
    for (size_t i = 0; i < cpu.gradients.size(); ++i) {
      expect_gradient(actual.gradients[i], cpu.gradients[i], op_case);
    }
  }

  // Takes turns with the layouts: a GPU runs all of them, the emulation one for each dtype and shape.
  void expect_all_right() {
    size_t turn = 0;
    for (const OpCase* op_case : cases_of(static_cast<Op>(GetParam()))) {
      for (const DType dtype : dtypes_of(op_case->dtypes)) {
        for (const Shapes& shapes : op_case->shapes) {
          const std::vector<Arrangement> arrangements = arrangements_for(shapes);
          const size_t count = is_emulated() ? 1 : arrangements.size();
          for (size_t i = 0; i < count; ++i) {
            expect_right(*op_case, dtype, shapes, arrangements[turn++ % arrangements.size()]);
            if (HasFailure()) return;
          }
        }
      }
    }
  }

 private:
  // One seed for both contexts, so that an operation draws equal random numbers on both devices.
  Ref<Context> there_ = make_ref<Context>(options());
};

TEST_P(OpsOnCuda, HaveTheValuesOfTheReferenceAndTheGradientsOfTheCpu) { expect_all_right(); }

// Convolutions by the device's own kernels, which cuDNN replaces where it is.
class ConvolutionsOnCuda : public OpsOnCuda {
 private:
  const ChosenCudnn none_{""};
};

TEST_P(ConvolutionsOnCuda, HaveTheSameWithoutCudnn) { expect_all_right(); }

INSTANTIATE_TEST_SUITE_P(Ops, ConvolutionsOnCuda,
                         testing::Values(static_cast<int>(Op::kConv1d), static_cast<int>(Op::kConv2d),
                                         static_cast<int>(Op::kConv3d), static_cast<int>(Op::kConvTranspose1d),
                                         static_cast<int>(Op::kConvTranspose2d)),
                         [](const auto& info) { return std::string(name_of(static_cast<Op>(info.param))); });

INSTANTIATE_TEST_SUITE_P(Ops, OpsOnCuda, testing::Range(0, kOpCount),
                         [](const auto& info) { return std::string(name_of(static_cast<Op>(info.param))); });

}  // namespace
}  // namespace halftone
