// The storage of weights that are there only while they are used: released after forward, refilled for backward.
#include "autograd/parameter.h"
#include "ops/ops.h"
#include "room_fixture.h"
#include "tensor/launch.h"

namespace halftone {
namespace {

class ReleasedStorageTest : public RoomTest {
 protected:
  static constexpr int64_t kWidth = 64;

  Ref<Parameter> weight() {
    const Tensor unit = empty(device(), DType::kF32, {2 * kWidth * kWidth}, Category::kParameters);
    const Tensor part = unit.as_strided({kWidth, kWidth}, {kWidth, 1}, kWidth * kWidth);
    std::vector<double> values(kWidth * kWidth);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 13) - 6.0;
    copy(tensor({kWidth, kWidth}, values), part);
    return make_ref<Parameter>("weight", part);
  }
  Tensor input() { return full(device(), DType::kF32, {8, kWidth}, 0.5); }
  Tensor loss(const Ref<Parameter>& weight, const Tensor& x) {
    const Tensor hidden = ops::linear(x, weight->leaf(), Tensor());
    return ops::sum(ops::mul(hidden, hidden), {}, false);
  }
  int64_t bytes() { return device().allocator->stats().current; }
  // As a gather of the shards does it: without a new version.
  void write_back(const Tensor& saved, const Tensor& target) {
    launch("cast", device(), &Kernels::convert, &ConvertKernels::cast, saved.view(), target.view());
  }
};

TEST_F(ReleasedStorageTest, BackwardThroughRefilledWeightsGivesTheSameGradients) {
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> kept = weight();
  run_backward(loss(kept, x), Tensor(), false);
  const std::vector<double> expected = values(kept->grad());
  const std::vector<double> expected_input = grad(x);
  accumulator_of(x)->zero_grad();

  const Ref<Parameter> sharded = weight();
  const Tensor saved = converted(sharded->master(), DType::kF32);
  const Tensor y = loss(sharded, x);
  Storage& unit = *sharded->master().storage();
  const int64_t before = bytes();
  unit.release_memory();
  EXPECT_EQ(bytes(), before - 2 * kWidth * kWidth * 4);
  EXPECT_EQ(sharded->master().data(), nullptr);
  const Tensor taken = full(device(), DType::kF32, {2 * kWidth * kWidth}, 77.0);  // the block is used meanwhile
  unit.refill();
  write_back(saved, sharded->master());
  run_backward(y, Tensor(), false);
  EXPECT_EQ(values(sharded->grad()), expected);
  EXPECT_EQ(grad(x), expected_input);
}

TEST_F(ReleasedStorageTest, BackwardThroughReleasedWeightsIsRefused) {
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> sharded = weight();
  const Tensor y = loss(sharded, x);
  sharded->master().storage()->release_memory();
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(ReleasedStorageTest, AWriteAfterTheRefillIsStillSeen) {
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> sharded = weight();
  const Tensor y = loss(sharded, x);
  sharded->master().storage()->release_memory();
  sharded->master().storage()->refill();
  fill(sharded->master(), 1.0);
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(ReleasedStorageTest, ReleasingTwiceAndRefillingTwiceChangeNothing) {
  const Ref<Parameter> sharded = weight();
  Storage& unit = *sharded->master().storage();
  const int64_t before = bytes();
  unit.release_memory();
  unit.release_memory();
  unit.refill();
  unit.refill();
  EXPECT_EQ(bytes(), before);
}

}  // namespace
}  // namespace halftone
