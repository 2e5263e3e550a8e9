#include "data/sampler.h"

#include <algorithm>

#include "data/batches.h"
#include "data/state.h"
#include "room_fixture.h"

namespace halftone::data {
namespace {

std::vector<int64_t> epoch_of(Sampler& sampler) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < sampler.batches_per_epoch(); ++i) {
    const std::vector<int64_t>& batch = sampler.peek();
    order.insert(order.end(), batch.begin(), batch.end());
    sampler.advance();
  }
  return order;
}

std::vector<int64_t> counted(int64_t count) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(i);
  return result;
}

TEST(Sampler, AnEpochIsAPermutationAndTheNextIsAnother) {
  Sampler sampler({.count = 1000, .batch_size = 10, .seed = 3});
  std::vector<int64_t> first = epoch_of(sampler);
  std::vector<int64_t> second = epoch_of(sampler);
  EXPECT_NE(first, second);
  EXPECT_NE(first, counted(1000));
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, counted(1000));
  EXPECT_EQ(second, counted(1000));
}

TEST(Sampler, TheOrderDependsOnSeedAndEpochAlone) {
  Sampler a({.count = 100, .batch_size = 7, .seed = 3, .drop_last = false});
  Sampler b({.count = 100, .batch_size = 50, .seed = 3, .drop_last = false});
  Sampler c({.count = 100, .batch_size = 50, .seed = 4, .drop_last = false});
  const std::vector<int64_t> order = epoch_of(a);
  EXPECT_EQ(order, epoch_of(b));
  EXPECT_NE(order, epoch_of(c));
}

TEST(Sampler, RanksShareTheEpochWithoutOverlap) {
  std::vector<int64_t> all;
  for (int rank = 0; rank < 3; ++rank) {
    Sampler sampler({.count = 100, .batch_size = 8, .seed = 3, .rank = rank, .world_size = 3, .drop_last = false});
    const std::vector<int64_t> part = epoch_of(sampler);
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, counted(100));
}

TEST(Sampler, WithDropLastEveryRankTakesEquallyManyFullBatches) {
  for (int rank = 0; rank < 3; ++rank) {
    Sampler sampler({.count = 100, .batch_size = 8, .seed = 3, .rank = rank, .world_size = 3, .drop_last = true});
    EXPECT_EQ(sampler.batches_per_epoch(), 4);
    EXPECT_EQ(epoch_of(sampler).size(), 32u);
  }
}

TEST(Sampler, PeekingTakesNothing) {
  Sampler sampler({.count = 100, .batch_size = 10, .seed = 3});
  const std::vector<int64_t> first = sampler.peek();
  EXPECT_EQ(sampler.peek(), first);
  EXPECT_EQ(sampler.batch(), 0);
  sampler.advance();
  EXPECT_NE(sampler.peek(), first);
}

// A list of the samples would need more memory than a process can address.
TEST(Sampler, WithoutAShuffleTheCountTakesNoMemory) {
  Sampler sampler({.count = kMaxSamples, .batch_size = 2, .rank = 1, .world_size = 3, .shuffle = false});
  EXPECT_EQ(sampler.peek(), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(sampler.following(), (std::vector<int64_t>{7, 10}));
  sampler.set_cursor(sampler.batches_per_epoch() - 1);
  EXPECT_EQ(sampler.peek().back(), kMaxSamples - 1 - (kMaxSamples - 2) % 3);
  EXPECT_EQ(sampler.following(), (std::vector<int64_t>{1, 4}));
}

TEST(Sampler, RefusesWhatGivesNoBatch) {
  EXPECT_EQ(code_of([] { Sampler({.count = 5, .batch_size = 6, .drop_last = true}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Sampler({.count = 0, .batch_size = 6}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Sampler({.count = 5, .batch_size = 1, .rank = 2, .world_size = 2}); }),
            Code::kInvalidArgument);
}

class BatchesTest : public RoomTest {};

TEST_F(BatchesTest, RowsOfEveryTensorComeInTheSamplersOrder) {
  const Tensor images = tensor({4, 2}, {0, 1, 10, 11, 20, 21, 30, 31}, DType::kU8);
  const Tensor labels = tensor({4}, {0, 1, 2, 3}, DType::kI64);
  const Ref<Sampler> sampler = make_ref<Sampler>(SamplerOptions{.count = 4, .batch_size = 2, .seed = 1});
  Batches batches(sampler, {images, labels});
  EXPECT_FALSE(batches.get(0).defined());
  const std::vector<int64_t> order = sampler->peek();
  batches.next();
  EXPECT_EQ(sampler->batch(), 1);
  EXPECT_EQ(batches.get(0).dtype(), DType::kU8);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(values(batches.get(1))[i], order[i]);
    EXPECT_EQ(values(batches.get(0))[2 * i], 10 * order[i]);
    EXPECT_EQ(values(batches.get(0))[2 * i + 1], 10 * order[i] + 1);
  }
}

TEST_F(BatchesTest, AFailureLeavesSamplerAndBatch) {
  const Tensor images = tensor({4, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  const Ref<Sampler> sampler = make_ref<Sampler>(SamplerOptions{.count = 4, .batch_size = 2, .seed = 1});
  Batches batches(sampler, {images});
  batches.next();
  const std::vector<double> current = values(batches.get(0));
  device().allocator->release_cached();
  device().allocator->set_limit(1);
  std::vector<Tensor> taken;
  code_of([&] {
    for (int i = 0; i < 100000; ++i) taken.push_back(empty(device(), DType::kF32, {4}));
  });
  EXPECT_EQ(code_of([&] { batches.next(); }), Code::kOutOfMemory);
  EXPECT_EQ(sampler->batch(), 1);
  taken.clear();
  EXPECT_EQ(values(batches.get(0)), current);
}

TEST(Sampler, F27_ACursorThatCannotBeCountedOnIsRefused) {
  Sampler sampler({.count = 4, .batch_size = 1});
  const StateDict sound = state_of(sampler);
  for (int64_t cursor : {int64_t{-1}, INT64_MAX}) {
    StateDict state;
    for (const NamedScalar& scalar : sound.scalars()) {
      state.add(scalar.name, scalar.name == "cursor" ? StateScalar(cursor) : scalar.value);
    }
    EXPECT_EQ(code_of([&] { stage_state(sampler, state)(); }), Code::kFormat) << cursor;
  }
  EXPECT_EQ(sampler.cursor(), 0);
}

}  // namespace
}  // namespace halftone::data
