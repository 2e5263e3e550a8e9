// The storage of weights that are there only while they are used: released after forward, refilled for backward.
#include "autograd/parameter.h"
#include "autograd/weights/weights.h"
#include "ops/dispatch/autocast.h"
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
  // Its copy, too, is a part of a larger storage.
  Ref<Parameter> weight_with_copy() {
    const Tensor unit = empty(device(), DType::kBF16, {2 * kWidth * kWidth}, Category::kParameters);
    const Tensor part = unit.as_strided({kWidth, kWidth}, {kWidth, 1}, kWidth * kWidth);
    Ref<Parameter> made = weight();
    copy(made->weights().master(), part);
    made->weights().set_compute(part);
    return made;
  }
  Tensor loss(const Ref<Parameter>& weight, const Tensor& x, const AutocastPolicy* policy = nullptr) {
    const ScopeGuard restore;
    scope().autocast = policy;
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
  const Tensor saved = converted(sharded->weights().master(), DType::kF32);
  const Tensor y = loss(sharded, x);
  Storage& unit = *sharded->weights().master().storage();
  const int64_t before = bytes();
  unit.release_memory();
  EXPECT_EQ(bytes(), before - 2 * kWidth * kWidth * 4);
  EXPECT_EQ(sharded->weights().master().data(), nullptr);
  const Tensor taken = full(device(), DType::kF32, {2 * kWidth * kWidth}, 77.0);  // the block is used meanwhile
  unit.refill();
  write_back(saved, sharded->weights().master());
  run_backward(y, Tensor(), false);
  EXPECT_EQ(values(sharded->grad()), expected);
  EXPECT_EQ(grad(x), expected_input);
}

// Under autocast an operation saves the copy, whose storage is another one than the weights'.
TEST_F(ReleasedStorageTest, BackwardThroughARefilledCopyGivesTheSameGradients) {
  const AutocastPolicy policy(DType::kBF16);
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> kept = weight_with_copy();
  run_backward(loss(kept, x, &policy), Tensor(), false);
  const std::vector<double> expected = values(kept->grad());
  const std::vector<double> expected_input = grad(x);
  accumulator_of(x)->zero_grad();

  const Ref<Parameter> sharded = weight_with_copy();
  const Tensor saved = converted(sharded->weights().compute(), DType::kBF16);
  const Tensor y = loss(sharded, x, &policy);
  Storage& unit = *sharded->weights().compute().storage();
  const int64_t before = bytes();
  unit.release_memory();
  EXPECT_EQ(bytes(), before - 2 * kWidth * kWidth * 2);
  const Tensor taken = full(device(), DType::kBF16, {2 * kWidth * kWidth}, 77.0);
  unit.refill();
  write_back(saved, sharded->weights().compute());
  run_backward(y, Tensor(), false);
  EXPECT_EQ(values(sharded->grad()), expected);
  EXPECT_EQ(grad(x), expected_input);
  EXPECT_EQ(policy.cast_bytes().parameters, 0);
}

// A forward after the refill reads the copy through the leaf that the parameter kept.
TEST_F(ReleasedStorageTest, AForwardAfterTheRefillReadsTheNewMemory) {
  const AutocastPolicy policy(DType::kBF16);
  const Ref<Parameter> sharded = weight_with_copy();
  const Tensor x = input();
  const std::vector<double> expected = values(loss(sharded, x, &policy));
  const Tensor saved = converted(sharded->weights().compute(), DType::kBF16);
  Storage& unit = *sharded->weights().compute().storage();
  unit.release_memory();
  const Tensor taken = full(device(), DType::kBF16, {2 * kWidth * kWidth}, 77.0);
  unit.refill();
  EXPECT_NE(sharded->weights().compute().data(), taken.data());
  write_back(saved, sharded->weights().compute());
  EXPECT_EQ(sharded->leaf_in(DType::kBF16).data(), sharded->weights().compute().data());
  EXPECT_EQ(values(loss(sharded, x, &policy)), expected);
}

TEST_F(ReleasedStorageTest, BackwardThroughAReleasedCopyIsRefused) {
  const AutocastPolicy policy(DType::kBF16);
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> sharded = weight_with_copy();
  const Tensor y = loss(sharded, x, &policy);
  sharded->weights().compute().storage()->release_memory();
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(ReleasedStorageTest, ACopyThatIsWrittenAfterTheRefillIsSeen) {
  const AutocastPolicy policy(DType::kBF16);
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> sharded = weight_with_copy();
  const Tensor y = loss(sharded, x, &policy);
  sharded->weights().compute().storage()->release_memory();
  sharded->weights().compute().storage()->refill();
  sharded->write(full(device(), DType::kF32, {kWidth, kWidth}, 1.0));
  sharded->weights().mark_current();
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

// The copies of many parameters share a storage, and a write to one of them does not concern the others.
TEST_F(ReleasedStorageTest, AWriteToAnotherCopyOfTheStorageIsNotSeen) {
  const AutocastPolicy policy(DType::kBF16);
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> written = weight_with_copy();
  const Ref<Parameter> read = weight();
  const Tensor part = written->weights().compute().as_strided({kWidth, kWidth}, {kWidth, 1}, 0);
  copy(read->weights().master(), part);
  read->weights().set_compute(part);
  const Tensor y = loss(read, x, &policy);
  written->write(full(device(), DType::kF32, {kWidth, kWidth}, 1.0));
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kOk);
  EXPECT_TRUE(read->has_grad());
}

TEST_F(ReleasedStorageTest, BackwardThroughReleasedWeightsIsRefused) {
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> sharded = weight();
  const Tensor y = loss(sharded, x);
  sharded->weights().master().storage()->release_memory();
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(ReleasedStorageTest, AWriteAfterTheRefillIsStillSeen) {
  Tensor x = input();
  set_requires_grad(x, true);
  const Ref<Parameter> sharded = weight();
  const Tensor y = loss(sharded, x);
  sharded->weights().master().storage()->release_memory();
  sharded->weights().master().storage()->refill();
  fill(sharded->weights().master(), 1.0);
  EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
}

TEST_F(ReleasedStorageTest, ReleasingTwiceAndRefillingTwiceChangeNothing) {
  const Ref<Parameter> sharded = weight();
  Storage& unit = *sharded->weights().master().storage();
  const int64_t before = bytes();
  unit.release_memory();
  unit.release_memory();
  unit.refill();
  unit.refill();
  EXPECT_EQ(bytes(), before);
}

}  // namespace
}  // namespace halftone
