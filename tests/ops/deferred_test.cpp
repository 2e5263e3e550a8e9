// Every operation and its gradients on the deferred device, whose work runs only when the program waits: the CPU's
// bits, and no wait on the way.
#include <string>

#include "deferred_device.h"
#include "no_gradient.h"
#include "op_call.h"
#include "ops/index/index.h"
#include "ops/loss/loss.h"
#include "room_fixture.h"
#include "rotation.h"

namespace halftone {
namespace {

using Bits = std::vector<std::byte>;

Bits bits_of(const Tensor& tensor) {
  Bits bits(static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype()));
  read_to_host(tensor, tensor.dtype(), bits.data());
  return bits;
}

class OnDeferredDevice : public RoomTest {
 protected:
  ContextDevice& deferred() { return deferred_device(*there_); }

 private:
  // One seed for both contexts, so that an operation draws equal random numbers on both devices.
  Ref<Context> there_ = make_ref<Context>(options());
};

class OpsOnDeferredDevice : public OnDeferredDevice, public testing::WithParamInterface<int> {
 protected:
  static void run_backward_of(const Tensors& results, ContextDevice& device) {
    for (size_t k = 0; k < results.size(); ++k) {
      if (!requires_grad(results[k])) continue;
      const Draw draw = distinct(31 * static_cast<int>(k));
      const Array weights = draw_input({draw}, results[k].dtype(), {results[k].shape()}, 0, Layout::kContiguous);
      const LaidInput gradient(device, results[k].dtype(), weights, Layout::kContiguous);
      run_backward(results[k], gradient.tensor(), true);
    }
  }

  // The results, then the gradients of the inputs that have one.
  static std::vector<Bits> outcome(const OpCase& op_case, ContextDevice& device, DType dtype, const Arrays& inputs,
                                   const Arrangement& arrangement) {
    OpCall call(op_case, device, dtype, inputs, arrangement);
    if (leads_gradients(op_case.op)) call.require_gradients();
    const int64_t waits = deferred_waits();
    const Tensors results = call.run();
    run_backward_of(results, device);
    const int64_t allowed = has_shape_of_values(op_case.op) ? 1 : 0;
    EXPECT_LE(deferred_waits(), waits + allowed);
    std::vector<Bits> outcome;
    for (const Tensor& result : results) outcome.push_back(bits_of(result));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const AccumulateGrad* leaf = accumulator_of(call.input(i));
      if (leaf != nullptr && leaf->has_grad()) outcome.push_back(bits_of(leaf->grad()));
    }
    EXPECT_TRUE(call.inputs_are_unchanged());
    return outcome;
  }
};

TEST_P(OpsOnDeferredDevice, GiveTheBitsOfTheCpuWithoutAWait) {
  const Rotation rotation = Rotation::of_this_run(static_cast<uint64_t>(GetParam()));
  for (const OpCase* op_case : cases_of(static_cast<Op>(GetParam()))) {
    for (const DType dtype : rotation.sample(dtypes_of(op_case->dtypes), 1)) {
      for (const Shapes& shapes : op_case->shapes) {
        for (const Arrangement& arrangement : rotation.sample(arrangements_for(shapes), 1)) {
          SCOPED_TRACE(describe(*op_case, dtype, shapes) + " " + arrangement.name);
          const Arrays inputs = draw_inputs(*op_case, dtype, shapes, arrangement);
          const std::vector<Bits> expected = outcome(*op_case, device(), dtype, inputs, arrangement);
          ASSERT_TRUE(outcome(*op_case, deferred(), dtype, inputs, arrangement) == expected);
          if (HasFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpsOnDeferredDevice, testing::Range(0, kOpCount),
                         [](const auto& info) { return std::string(name_of(static_cast<Op>(info.param))); });

// A23
TEST_F(OnDeferredDevice, ABadIndexIsReportedByTheNextWait) {
  const int64_t indices[] = {1, 9, 2};
  const Tensor table = full(deferred(), DType::kF32, {4, 2}, 1.5);
  const Tensor rows = ops::embedding(table, from_host(deferred(), DType::kI64, {3}, indices), -1);
  try {
    values(rows);
    FAIL() << "index 9 is outside of the table";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("indices[1]=9 is outside [0, 4)"), std::string::npos) << error.what();
  }
  EXPECT_EQ(values(table), std::vector<double>(8, 1.5)) << "the fault was reported once";
}

// A23
TEST_F(OnDeferredDevice, ABadTargetIsReportedByTheNextWait) {
  const int64_t targets[] = {0, 3};
  const Tensor logits = full(deferred(), DType::kF32, {2, 3}, 0.0);
  const Tensor loss = ops::cross_entropy(logits, from_host(deferred(), DType::kI64, {2}, targets));
  EXPECT_EQ(code_of([&] { values(loss); }), Code::kInvalidArgument);
  EXPECT_EQ(values(logits), std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace halftone
