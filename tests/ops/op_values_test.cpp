// Results of every operation against its reference: on every instruction set, dtype, shape and layout.
#include "array_slack.h"
#include "instruction_sets.h"
#include "op_call.h"
#include "room_fixture.h"
#include "rotation.h"

namespace halftone {
namespace {

struct Prepared {
  Arrangement arrangement;
  Arrays inputs;
  Arrays expected;
};

class OpValues : public RoomTest, public testing::WithParamInterface<int> {
 protected:
  static std::vector<Prepared> prepare(const OpCase& op_case, DType dtype, const Shapes& shapes,
                                       const std::vector<Arrangement>& arrangements) {
    std::vector<Prepared> result;
    for (const Arrangement& arrangement : arrangements) {
      Arrays inputs = draw_inputs(op_case, dtype, shapes, arrangement);
      // A layout moves elements and changes no result, unless it repeats them.
      const bool is_new = result.empty() || arrangement.repeats() || result[0].arrangement.repeats();
      Arrays expected = is_new ? op_case.reference(inputs) : result[0].expected;
      result.push_back({arrangement, std::move(inputs), std::move(expected)});
    }
    return result;
  }

  void expect_right(const OpCase& op_case, DType dtype, const Prepared& prepared) {
    const OpCall call(op_case, device(), dtype, prepared.inputs, prepared.arrangement);
    const Tensors results = call.run();
    ASSERT_EQ(results.size(), prepared.expected.size());
    for (size_t k = 0; k < results.size(); ++k) {
      SCOPED_TRACE("result " + std::to_string(k));
      const ResultDtype dtype_of_result = op_case.results[std::min(k, op_case.results.size() - 1)];
      EXPECT_EQ(name_of(results[k].dtype()), name_of(dtype_of_result(dtype)));
      expect_elements(results[k], prepared.expected[k], op_case.is_exact);
    }
    EXPECT_TRUE(call.inputs_are_unchanged());
  }

 private:
  static void expect_elements(const Tensor& result, const Array& expected, bool is_exact) {
    ASSERT_TRUE(result.shape() == expected.shape)
        << ShapeText(result.shape()).text << ", not " << ShapeText(expected.shape).text;
    const std::vector<double> actual = elements_of(result);
    for (size_t i = 0; i < actual.size(); ++i) {
      const double wanted = expected.values[i];
      const double slack = slack_of(expected, i, result.dtype());
      const bool is_right = is_exact ? actual[i] == wanted || (std::isnan(actual[i]) && std::isnan(wanted))
                                     : is_within(actual[i], wanted, slack, result.dtype());
      ASSERT_TRUE(is_right) << "element " << i << " is " << actual[i] << ", not " << wanted;
    }
  }
};

TEST_P(OpValues, AreThoseOfTheReference) {
  uint64_t turn = static_cast<uint64_t>(GetParam());
  for (const OpCase* op_case : cases_of(static_cast<Op>(GetParam()))) {
    const Rotation dtypes = Rotation::of_this_run(turn);
    for (const DType dtype : dtypes.sample(dtypes_of(op_case->dtypes), kDtypesInRotation)) {
      for (const Shapes& shapes : op_case->shapes) {
        const Rotation rotation = Rotation::of_this_run(turn++);
        const std::vector<Arrangement> arrangements =
            rotation.sample(arrangements_for(shapes), is_large(shapes) ? 1 : 2);
        const std::vector<Prepared> list = prepare(*op_case, dtype, shapes, arrangements);
        on_instruction_sets(rotation.sample(instruction_sets(), 1), [&] {
          for (const Prepared& prepared : list) {
            SCOPED_TRACE(describe(*op_case, dtype, shapes) + " " + prepared.arrangement.name);
            expect_right(*op_case, dtype, prepared);
          }
        });
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpValues, testing::Range(0, kOpCount),
                         [](const auto& info) { return std::string(name_of(static_cast<Op>(info.param))); });

}  // namespace
}  // namespace halftone
