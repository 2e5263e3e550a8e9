// Copies between two devices, and their gradients.
#include "deferred_device.h"
#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class CopiesBetweenDevices : public RoomTest {
 protected:
  ContextDevice& other() { return deferred_device(context()); }
};

TEST_F(CopiesBetweenDevices, ConvertAndReturnTheirGradient) {
  const Tensor x = leaf({3}, {1, 2, 3}, DType::kBF16);
  const Tensor moved = ops::to(x, other(), DType::kF32);
  EXPECT_EQ(&moved.device(), &other());
  EXPECT_EQ(moved.dtype(), DType::kF32);
  EXPECT_EQ(values(moved), (std::vector<double>{1, 2, 3}));
  run_backward(ops::sum(ops::mul(moved, moved), {}, false), Tensor(), false);
  EXPECT_EQ(&accumulator_of(x)->grad().device(), &device());
  EXPECT_EQ(accumulator_of(x)->grad().dtype(), DType::kBF16);
  EXPECT_EQ(grad(x), (std::vector<double>{2, 4, 6}));
}

TEST_F(CopiesBetweenDevices, ReturnTheTensorItselfWhereNothingChanges) {
  const Tensor x = leaf({2}, {1, 2});
  EXPECT_TRUE(ops::to(x, device(), DType::kF32).is_same(x));
  const Tensor moved = ops::to(x, other(), DType::kF32);
  EXPECT_TRUE(ops::to(moved, other(), DType::kF32).is_same(moved));
}

TEST_F(CopiesBetweenDevices, WriteIntoATensorOfTheOtherOne) {
  const Tensor target = full(other(), DType::kF32, {2, 2}, 0.0);
  ops::copy_from(target, tensor({2}, {7, 8}, DType::kF64));
  EXPECT_EQ(values(target), (std::vector<double>{7, 8, 7, 8}));
  EXPECT_EQ(code_of([&] { ops::add_in_place(target, tensor({2}, {7, 8})); }), Code::kDevice);
}

TEST_F(CopiesBetweenDevices, AreNotRecordedWithoutAGradient) {
  EXPECT_FALSE(requires_grad(ops::to(tensor({2}, {1, 2}), other(), DType::kF32)));
  EXPECT_FALSE(requires_grad(ops::to(leaf({2}, {1, 2}), other(), DType::kI32)));
}

}  // namespace
}  // namespace halftone
