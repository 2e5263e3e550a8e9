// The moments of an optimizer whose ranks each update a shard: saved by any number of ranks, loaded by any other
// number.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/directory.h"
#include "checkpoint/memory_files.h"
#include "checkpoint/merged_index.h"
#include "optim/adamw.h"
#include "optim/state.h"
#include "room_fixture.h"

namespace halftone::trainer {
namespace {

// The last has less than a block, so most ranks have no element of it.
constexpr int64_t kSizes[] = {5 * kBlockSize + 17, 8 * kBlockSize, 31};

class ShardedCheckpointTest : public RoomTest {
 protected:
  static Shard shard_of(int64_t size, int64_t rank, int64_t ranks) {
    const int64_t blocks = (size + kBlockSize - 1) / kBlockSize;
    const auto cut = [&](int64_t k) { return std::min(blocks * k / ranks * kBlockSize, size); };
    return {.begin = cut(rank), .end = cut(rank + 1)};
  }

  Ref<optim::Optimizer> make_optimizer(const optim::Precision& precision, int64_t rank, int64_t ranks) {
    optim::ParameterGroup group{.parameters = {}, .precision = precision};
    for (const int64_t size : kSizes) {
      const auto weight = make_ref<Parameter>("weight", full(device(), DType::kF32, {size}, 1.0));
      weight->set_shard(shard_of(size, rank, ranks));
      group.parameters.push_back({"weight", weight});
    }
    return make_ref<optim::AdamW>(
        group, AdamwGroup{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0});
  }
  void take_step(optim::Optimizer& optimizer) {
    for (const optim::OwnedParameter& owned : optimizer.parameters()) {
      std::vector<float> gradient(static_cast<size_t>(numel(owned.parameter().shape())));
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 29) - 9.5f;
      owned.parameter().accumulator().accumulate(
          from_host(device(), DType::kF32, owned.parameter().shape(), gradient.data()));
    }
    optimizer.step();
    optimizer.zero_grad();
  }

  // Each rank takes a step with its shards and writes them.
  void save(const Io& io, const optim::Precision& precision, int64_t ranks) {
    ASSERT_EQ(io.make_directory(io.user, "/run", 0777), 0);
    ASSERT_EQ(io.make_directory(io.user, "/run/step-1", 0777), 0);
    std::vector<checkpoint::Index> indexes;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const Ref<optim::Optimizer> optimizer = make_optimizer(precision, rank, ranks);
      take_step(*optimizer);
      const checkpoint::SaveRank own = {.step = 1, .save_id = "one save", .rank = rank, .world_size = ranks};
      indexes.push_back(checkpoint::write_tensors(io, "/run/step-1", own, state_of(*optimizer)));
    }
    checkpoint::write_index(io, "/run/step-1", checkpoint::merged(std::move(indexes)));
  }

  // Loads by other ranks, which must then have their ranges of `expected`.
  void expect_loaded(const StateDict& saved, const optim::Precision& precision, int64_t ranks,
                     const StateDict& expected) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " of " + std::to_string(ranks));
      const Ref<optim::Optimizer> optimizer = make_optimizer(precision, rank, ranks);
      stage_state(*optimizer, saved)();
      EXPECT_EQ(optimizer->step_count(), 1);
      const StateDict loaded = state_of(*optimizer);
      ASSERT_EQ(loaded.tensors().size(), expected.tensors().size());
      for (const StateTensor& entry : loaded.tensors()) {
        const std::vector<double> all = values(expected.find(entry.name)->tensor);
        const auto begin = all.begin() + entry.offset();
        EXPECT_EQ(values(entry.tensor), std::vector<double>(begin, begin + entry.numel())) << entry.name;
      }
    }
  }
};

TEST_F(ShardedCheckpointTest, P7_MomentsMoveBetweenAnyNumbersOfRanks) {
  const optim::Precision precisions[] = {{}, {.moment1_dtype = DType::kI8, .moment2_dtype = DType::kU8}};
  for (const optim::Precision& precision : precisions) {
    const Ref<optim::Optimizer> whole = make_optimizer(precision, 0, 1);
    take_step(*whole);
    const StateDict expected = state_of(*whole);
    for (const int64_t writers : {1, 2, 4, 8}) {
      SCOPED_TRACE(std::to_string(writers) + " writers");
      MemoryFiles files;
      save(files.io(), precision, writers);
      const auto loaded = checkpoint::Directory(files.io(), system_clock(), "/run").load_latest(device());
      ASSERT_TRUE(loaded);
      for (const int64_t readers : {1, 2, 3}) expect_loaded(loaded->state, precision, readers, expected);
    }
  }
}

}  // namespace
}  // namespace halftone::trainer
