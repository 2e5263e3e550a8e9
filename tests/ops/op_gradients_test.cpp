// Gradients of every operation: in f64 against finite differences, in the other dtypes against f64. Runs on every
// instruction set, with inputs and output gradients in several layouts.
#include <algorithm>
#include <cmath>
#include <map>

#include "finite_difference.h"
#include "instruction_sets.h"
#include "no_gradient.h"
#include "room_fixture.h"
#include "rotation.h"
#include "tolerance.h"

namespace halftone {
namespace {

// If an input has more elements, only this many are moved. Each is moved twice, and every move calls the operation, so
// under a sanitizer fewer are.
constexpr int64_t kMovedAtMost = 40;
constexpr size_t kMovedInRotation = 4;

std::vector<int64_t> moved_elements(int64_t count) {
  std::vector<int64_t> result;
  if (count <= kMovedAtMost) {
    for (int64_t i = 0; i < count; ++i) result.push_back(i);
    return result;
  }
  for (const int64_t part : {0, 3, 6}) result.push_back(count / 8 * part);
  result.push_back(count - 1);
  return result;
}

// Indexed by input and element.
using Gradients = std::vector<std::vector<double>>;
using Slopes = std::map<std::pair<size_t, int64_t>, Slope>;

struct Layouts {
  const char* name;
  Arrangement inputs;
  Layout weights;
};
const std::vector<Layouts> kLayouts = {
    {"contiguous", {"", {Layout::kContiguous}}, Layout::kContiguous},
    {"reversed", {"", {Layout::kReversed}}, Layout::kReversed},
    {"with gaps", {"", {Layout::kGaps, Layout::kContiguous}}, Layout::kGaps},
};
// The output gradient of a sum or a mean is one repeated element.
const std::vector<Layouts> kRepeated = {
    {"with a gradient repeated along the first dimension", {"", {Layout::kContiguous}}, Layout::kRepeatedFirst},
    {"with a gradient repeated along the last dimension", {"", {Layout::kReversed}}, Layout::kRepeatedLast},
};

class OpGradients : public RoomTest, public testing::WithParamInterface<int> {
 protected:
  // The factors of the results in the loss: none for results that are not differentiable.
  Arrays weights_for(const OpCase& op_case, const Arrays& inputs, Layout layout) {
    OpCall call(op_case, device(), DType::kF64, inputs, kLayouts[0].inputs);
    call.require_gradients();
    Arrays weights;
    for (const Tensor& result : call.run()) {
      const Shape shape = requires_grad(result) ? result.shape() : Shape{0};
      const int number = static_cast<int>(weights.size());
      weights.push_back(draw_input({distinct(31 * number)}, DType::kF64, {shape}, 0, layout));
    }
    return weights;
  }

  Gradients gradients_of(const OpCase& op_case, DType dtype, const Arrays& inputs, const Arrays& weights,
                         const Layouts& layouts) {
    OpCall call(op_case, device(), dtype, inputs, layouts.inputs);
    call.require_gradients();
    const Tensors results = call.run();
    deliver(results, weights, layouts.weights);
    const Gradients gradients = gradients_at(call, inputs);
    if (layouts.weights == Layout::kContiguous) {
      deliver(results, weights, layouts.weights);
      expect_twice(gradients_at(call, inputs), gradients, dtype);
    }
    EXPECT_TRUE(call.inputs_are_unchanged());
    return gradients;
  }

  void deliver(const Tensors& results, const Arrays& weights, Layout layout) {
    for (size_t k = 0; k < results.size(); ++k) {
      if (!requires_grad(results[k])) continue;
      const LaidInput gradient(device(), results[k].dtype(), weights[k], layout);
      run_backward(results[k], gradient.tensor(), true);
      EXPECT_TRUE(gradient.is_unchanged());
    }
  }

  static Gradients gradients_at(const OpCall& call, const Arrays& inputs) {
    Gradients gradients(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const AccumulateGrad* leaf = accumulator_of(call.input(i));
      if (leaf == nullptr) continue;
      gradients[i].resize(inputs[i].values.size());
      if (leaf->has_grad()) gradients[i] = elements_of(leaf->grad());
    }
    return gradients;
  }

  // Operations add a second gradient to the first one themselves. A sum that starts with the first gradient may round
  // in another order.
  static void expect_twice(const Gradients& twice, const Gradients& once, DType dtype) {
    for (size_t i = 0; i < once.size(); ++i) {
      double largest = 0;
      for (const double gradient : once[i]) largest = std::max(largest, std::fabs(gradient));
      const double bound = 2 * kFunctionError * half_step(dtype).relative * largest + 2 * half_step(dtype).smallest;
      for (size_t at = 0; at < once[i].size(); ++at) {
        ASSERT_NEAR(twice[i][at], 2 * once[i][at], bound) << "of element " << at << " of input " << i;
      }
    }
  }

  Slopes slopes_of(const OpCase& op_case, const Arrays& inputs, const Arrays& weights, const Rotation& rotation) {
    Slopes slopes;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!leads_gradient(op_case.inputs[i], DType::kF64)) continue;
      for (const int64_t at : rotation.sample(moved_elements(inputs[i].size()), kMovedInRotation)) {
        slopes[{i, at}] = slope_of(op_case, device(), inputs, weights, i, at);
      }
    }
    return slopes;
  }

  static void expect_slopes(const Gradients& gradients, const Slopes& slopes) {
    for (const auto& [place, slope] : slopes) {
      const double gradient = gradients[place.first][static_cast<size_t>(place.second)];
      EXPECT_NEAR(gradient, slope.value, kCurveError * slope.magnitude + slope.noise + kLeastError)
          << "of element " << place.second << " of input " << place.first;
    }
  }

  // The bound covers the roundings to the dtype, those of each slope's terms, and a sum over the reached results. The
  // last rounding is that of the gradient, which is small where the slope's terms cancel.
  static void expect_close(const OpCase& op_case, DType dtype, const Gradients& gradients, const Gradients& exact,
                           const Slopes& slopes) {
    for (const auto& [place, slope] : slopes) {
      const auto at = static_cast<size_t>(place.second);
      const double gradient = exact[place.first][at];
      const double rounded = op_case.gradient_roundings * slope.magnitude + std::fabs(gradient);
      const double computed = (static_cast<double>(slope.reached) + kFunctionError) * slope.magnitude +
                              kFunctionError * op_case.slope_terms * slope.weights;
      const double bound = half_step(dtype).relative * rounded +
                           half_step(dtype).smallest * (op_case.gradient_roundings + 1) +
                           computed * half_step(compute_dtype(dtype)).relative;
      EXPECT_NEAR(gradients[place.first][at], gradient, bound)
          << "of element " << place.second << " of input " << place.first;
    }
  }

  // `inputs` are already rounded to the dtype, so f64 computes with equal values.
  void check(const OpCase& op_case, DType dtype, const Arrays& inputs, const std::vector<Layouts>& list,
             const Rotation& rotation) {
    const Arrays weights = weights_for(op_case, inputs, list[0].weights);
    const Slopes slopes = slopes_of(op_case, inputs, weights, rotation);
    const Gradients exact = gradients_of(op_case, DType::kF64, inputs, weights, kLayouts[0]);
    on_instruction_sets(rotation.sample(instruction_sets(), 1), [&] {
      for (const Layouts& layouts : list) {
        SCOPED_TRACE(layouts.name);
        const Gradients gradients = gradients_of(op_case, dtype, inputs, weights, layouts);
        if (dtype == DType::kF64) {
          expect_slopes(gradients, slopes);
        } else {
          expect_close(op_case, dtype, gradients, exact, slopes);
        }
      }
    });
  }

  void check_shapes(const OpCase& op_case, DType dtype, const Shapes& shapes, const Rotation& rotation) {
    SCOPED_TRACE(describe(op_case, dtype, shapes));
    const Arrays inputs = draw_inputs(op_case, dtype, shapes, kLayouts[0].inputs);
    if (is_large(shapes)) {
      check(op_case, dtype, inputs, rotation.sample(std::vector<Layouts>{kLayouts[0], kLayouts[1]}, 1), rotation);
      return;
    }
    check(op_case, dtype, inputs, rotation.sample(kLayouts, 2), rotation);
    // One layout a call: a gradient that is repeated along another dimension is another gradient.
    for (const Layouts& repeated : rotation.sample(kRepeated, 1)) check(op_case, dtype, inputs, {repeated}, rotation);
  }
};

TEST_P(OpGradients, AreThoseOfFiniteDifferences) {
  uint64_t turn = static_cast<uint64_t>(GetParam());
  for (const OpCase* op_case : cases_of(static_cast<Op>(GetParam()))) {
    if (!op_case->has_gradient) continue;
    const Rotation dtypes = Rotation::of_this_run(turn);
    for (const DType dtype : dtypes.sample(dtypes_of(Dtypes::kFloats), kDtypesInRotation)) {
      for (const Shapes& shapes : op_case->shapes) {
        check_shapes(*op_case, dtype, shapes, Rotation::of_this_run(turn++));
        if (HasFailure()) return;
      }
    }
  }
}

std::vector<int> with_gradients() {
  std::vector<int> result;
  for (int i = 0; i < kOpCount; ++i) {
    if (leads_gradients(static_cast<Op>(i))) result.push_back(i);
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradients, testing::ValuesIn(with_gradients()),
                         [](const auto& info) { return std::string(name_of(static_cast<Op>(info.param))); });

}  // namespace
}  // namespace halftone
