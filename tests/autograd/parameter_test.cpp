#include "autograd/parameter.h"

#include <atomic>
#include <memory>
#include <thread>

#include "ops/ops.h"
#include "representations.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class ParameterTest : public RoomTest {
 protected:
  Ref<Parameter> parameter(const std::vector<double>& values) {
    return make_ref<Parameter>("weight", tensor({static_cast<int64_t>(values.size())}, values));
  }
};

TEST_F(ParameterTest, AllLeavesShareOneGradient) {
  const Ref<Parameter> weight = parameter({1, 2});
  run_backward(ops::sum(weight->leaf(), {}, false), Tensor(), false);
  run_backward(ops::sum(weight->leaf(), {}, false), Tensor(), false);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{2, 2}));
}

TEST_F(ParameterTest, ReadsTheCopyOnlyWhileItIsCurrent) {
  const Ref<Parameter> weight = parameter({1, 2});
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  EXPECT_EQ(weight->weights().read(DType::kBF16).data(), weight->weights().compute().data());
  fill(weight->weights().master(), 5);
  const Tensor fresh = weight->weights().read(DType::kBF16);
  EXPECT_NE(fresh.data(), weight->weights().compute().data());
  EXPECT_EQ(values(fresh), (std::vector<double>{5, 5}));
}

TEST_F(ParameterTest, SplitsIntoBf16AndARemainderAndJoinsToTheBit) {
  const std::vector<double> exact = {0.3f, -0.7f, 1.0, 1e-30f, 0.0};
  const Ref<Parameter> weight = parameter(exact);
  split(weight->weights());
  EXPECT_TRUE(weight->weights().is_split());
  EXPECT_FALSE(weight->weights().master().defined());
  EXPECT_EQ(weight->weights().tensor().dtype(), DType::kBF16);
  EXPECT_EQ(weight->weights().remainder().dtype(), DType::kI16);
  EXPECT_EQ(values(weight->weights().tensor())[0], 0.30078125);
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), exact);
  EXPECT_EQ(values(weight->weights().read(DType::kF64)), exact);
  split(weight->weights());  // a second split changes nothing
  join(weight->weights());
  EXPECT_FALSE(weight->weights().is_split());
  EXPECT_EQ(values(weight->weights().master()), exact);
  EXPECT_FALSE(weight->weights().compute().defined());
  join(weight->weights());
  EXPECT_EQ(values(weight->weights().master()), exact);
}

TEST_F(ParameterTest, ARemainderCountsOnlyWhileItIsCurrent) {
  const Ref<Parameter> weight = parameter({0.3});
  split(weight->weights());
  fill(weight->weights().tensor(), 2.0);
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), (std::vector<double>{2}));
  weight->weights().drop_stale_remainder();
  EXPECT_EQ(values(weight->weights().remainder()), (std::vector<double>{0}));
  EXPECT_EQ(values(weight->weights().read(DType::kF32)), (std::vector<double>{2}));
}

TEST_F(ParameterTest, ALeafFromBeforeASplitIsStale) {
  const Ref<Parameter> weight = parameter({1, 2});
  for (const bool splits : {true, false}) {
    const Tensor leaf = weight->leaf();
    const Tensor y = ops::sum(ops::mul(leaf, leaf), {}, false);
    splits ? split(weight->weights()) : join(weight->weights());
    EXPECT_EQ(code_of([&] { run_backward(y, Tensor(), false); }), Code::kState);
    weight->zero_grad();
  }
}

TEST_F(ParameterTest, NarrowsToSixteenBitsWhateverItWas) {
  for (const bool splits : {false, true}) {
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      const Ref<Parameter> weight = parameter({0.3, -0.7});
      if (splits) split(weight->weights());
      narrow(weight->weights(), dtype);
      EXPECT_FALSE(weight->weights().is_split());
      EXPECT_FALSE(weight->weights().compute().defined());
      EXPECT_EQ(weight->weights().tensor().dtype(), dtype);
      EXPECT_EQ(weight->leaf().data(), weight->weights().master().data());
      EXPECT_EQ(values(weight->weights().tensor()), values(tensor({2}, {0.3f, -0.7f}, dtype)));
      const void* data = weight->weights().tensor().data();
      narrow(weight->weights(), dtype);
      EXPECT_EQ(weight->weights().tensor().data(), data);
    }
  }
}

TEST_F(ParameterTest, AFrozenOneHasNoSourceNoSinkAndNoGradient) {
  const Ref<Parameter> weight = parameter({1, 2});
  const Tensor before = weight->leaf();
  const Tensor y = ops::sum(before, {}, false);
  weight->accumulator().memory().allocate();
  weight->set_frozen(true);
  EXPECT_FALSE(requires_grad(weight->leaf()));
  run_backward(y, Tensor(), false);
  EXPECT_FALSE(weight->has_grad());
  weight->set_frozen(false);
  run_backward(ops::sum(weight->leaf(), {}, false), Tensor(), false);
  EXPECT_EQ(values(weight->grad()), (std::vector<double>{1, 1}));
}

TEST_F(ParameterTest, KeepsOneLeafForAllForwards) {
  const Ref<Parameter> weight = parameter({1, 2});
  const Tensor leaf = weight->leaf();
  EXPECT_TRUE(weight->leaf().is_same(leaf));
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  const Tensor copy = weight->leaf_in(DType::kBF16);
  EXPECT_EQ(copy.data(), weight->weights().compute().data());
  EXPECT_TRUE(weight->leaf_in(DType::kBF16).is_same(copy));
  EXPECT_TRUE(weight->leaf_in(DType::kF32).is_same(weight->leaf()));
  EXPECT_FALSE(weight->leaf_in(DType::kF16).is_same(weight->leaf_in(DType::kF16))) << "a cast is not kept";
  EXPECT_EQ(copy.gradient_source(), leaf.gradient_source());
  EXPECT_TRUE(requires_grad(weight->leaf_in(DType::kF16)));
}

TEST_F(ParameterTest, LeavesFollowTheRepresentation) {
  const Ref<Parameter> weight = parameter({0.3, -0.7});
  const auto expect_leaf_over = [&](const Tensor& weights) {
    EXPECT_EQ(weight->leaf().data(), weights.data());
    EXPECT_EQ(weight->leaf().dtype(), weights.dtype());
    EXPECT_TRUE(weight->leaf().is_same(weight->leaf_in(weights.dtype())));
    EXPECT_TRUE(requires_grad(weight->leaf()));
  };
  expect_leaf_over(weight->weights().master());
  for (int i = 0; i < 2; ++i) {
    weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
    expect_leaf_over(weight->weights().master());
    EXPECT_EQ(weight->leaf_in(DType::kBF16).data(), weight->weights().compute().data());
  }
  weight->weights().set_compute(Tensor());
  EXPECT_EQ(values(weight->leaf_in(DType::kBF16)), values(converted(weight->weights().master(), DType::kBF16)));
  split(weight->weights());
  expect_leaf_over(weight->weights().compute());
  join(weight->weights());
  expect_leaf_over(weight->weights().master());
  narrow(weight->weights(), DType::kF16);
  expect_leaf_over(weight->weights().master());
}

TEST_F(ParameterTest, AKeptLeafDoesNotKeepFormerTensors) {
  const Ref<Parameter> weight = parameter(std::vector<double>(1024, 0.5));
  const auto bytes = [&] { return device().allocator->stats().current; };
  const int64_t before = bytes();
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  weight->leaf();
  weight->leaf_in(DType::kBF16);
  weight->weights().set_compute(Tensor());
  EXPECT_EQ(bytes(), before);
  weight->leaf();
  narrow(weight->weights(), DType::kBF16);
  EXPECT_EQ(bytes(), before - 2 * 1024);
}

TEST_F(ParameterTest, AChangedNewLeafLeavesTheKeptOneAsItIs) {
  const Ref<Parameter> weight = parameter({1, 2});
  const Tensor given = weight->new_leaf();
  EXPECT_EQ(given.data(), weight->weights().master().data());
  EXPECT_EQ(given.gradient_source(), weight->leaf().gradient_source());
  set_requires_grad(given, false);
  EXPECT_TRUE(requires_grad(weight->leaf()));
  weight->set_frozen(true);
  const Tensor frozen = weight->new_leaf();
  EXPECT_FALSE(requires_grad(frozen));
  set_requires_grad(frozen, true);
  EXPECT_FALSE(requires_grad(weight->leaf()));
  EXPECT_FALSE(requires_grad(weight->weights().master()));
}

TEST_F(ParameterTest, AGraphOutlivesItsParameter) {
  Ref<Parameter> weight = parameter({3});
  const Tensor leaf = weight->leaf();
  EXPECT_EQ(parameter_of(leaf), weight);
  const Tensor y = ops::mul(leaf, leaf);
  weight = nullptr;
  EXPECT_FALSE(parameter_of(leaf));
  EXPECT_STREQ(node_of(leaf)->name(), "weight");
  run_backward(y, Tensor(), false);
  EXPECT_EQ(grad(leaf), (std::vector<double>{6}));
}

TEST_F(ParameterTest, AGraphKeepsTheWeightsThatItNeedsAndNoMore) {
  const int64_t before = device().allocator->stats().current;
  Ref<Parameter> weight = parameter(std::vector<double>(1024, 0.5));
  weight->weights().set_compute(converted(weight->weights().master(), DType::kBF16));
  const Tensor y = ops::mul(weight->leaf(), weight->leaf());
  weight = nullptr;
  EXPECT_EQ(device().allocator->stats().current - before, 2 * 4 * 1024) << "the master and y";
  run_backward(ops::sum(y, {}, false), Tensor(), false);
}

TEST_F(ParameterTest, PostAccumulateHooksEndWithTheParameter) {
  Ref<Parameter> weight = parameter({3});
  const auto lives = std::make_shared<int>(0);
  weight->post_accumulate_hooks().add([lives](AccumulateGrad&) { ++*lives; });
  const Tensor leaf = weight->leaf();
  run_backward(ops::mul(leaf, leaf), Tensor(), false);
  EXPECT_EQ(*lives, 1);
  const Tensor y = ops::mul(leaf, leaf);
  weight = nullptr;
  EXPECT_EQ(lives.use_count(), 1);
  run_backward(y, Tensor(), false);
  EXPECT_EQ(*lives, 1);
  EXPECT_EQ(grad(leaf), (std::vector<double>{12}));
}

// Both threads wait for each other before each parameter, so that they make its leaves at the same time.
TEST_F(ParameterTest, ThreadsThatStartTogetherGetOneLeaf) {
  constexpr int kParameters = 200;
  std::vector<Ref<Parameter>> weights;
  for (int i = 0; i < kParameters; ++i) {
    weights.push_back(parameter({1, 2}));
    weights.back()->weights().set_compute(converted(weights.back()->weights().master(), DType::kBF16));
  }
  std::atomic<int> arrived = 0;
  std::vector<Tensor> leaves[2], copies[2];
  const auto take_leaves = [&](int thread) {
    for (int i = 0; i < kParameters; ++i) {
      ++arrived;
      while (arrived < 2 * (i + 1)) std::this_thread::yield();
      leaves[thread].push_back(weights[i]->leaf());
      copies[thread].push_back(weights[i]->leaf_in(DType::kBF16));
    }
  };
  std::thread other(take_leaves, 1);
  take_leaves(0);
  other.join();
  for (int i = 0; i < kParameters; ++i) {
    EXPECT_TRUE(leaves[0][i].is_same(leaves[1][i])) << i;
    EXPECT_TRUE(copies[0][i].is_same(copies[1][i])) << i;
    EXPECT_EQ(values(copies[0][i]), (std::vector<double>{1, 2}));
  }
}

// For ThreadSanitizer and AddressSanitizer: a lookup that comes too late must not find a parameter that is destroyed.
TEST_F(ParameterTest, AThreadMayReleaseTheParameterWhileAnotherOneReadsItsLeaf) {
  for (int round = 0; round < 20; ++round) {
    Ref<Parameter> weight = parameter({1, 2});
    const Tensor leaf = weight->new_leaf();
    std::thread releaser([&] { weight = nullptr; });
    while (const Ref<Parameter> found = parameter_of(leaf)) {
      EXPECT_EQ(values(found->leaf_in(DType::kBF16)), (std::vector<double>{1, 2}));
    }
    releaser.join();
    EXPECT_STREQ(node_of(leaf)->name(), "weight");
  }
}

TEST_F(ParameterTest, BelongsToOneOwnerAtATime) {
  const Ref<Parameter> weight = parameter({1});
  EXPECT_TRUE(weight->owner().claim());
  EXPECT_FALSE(weight->owner().claim());
  weight->owner().release();
  EXPECT_TRUE(weight->owner().claim());
}

}  // namespace
}  // namespace halftone
