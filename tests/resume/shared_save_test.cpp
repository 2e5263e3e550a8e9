// Checkpoints that every rank of a group writes, because each has ranges of the tensors; loaded by any number of ranks.
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "checkpoint/open_checkpoint.h"
#include "optim/adamw.h"
#include "optim/shared_parameter.h"
#include "optim/state.h"
#include "room_fixture.h"
#include "sharded_ranks.h"
#include "temporary_folder.h"

namespace halftone::resume {
namespace {

constexpr int kRankCounts[] = {1, 2, 3, 4, 8};

TEST(SharedSave, F24_AnyNumberOfRanksLoadsTheBitsThatAnyNumberSaved) {
  for (const int writers : kRankCounts) {
    SCOPED_TRACE(std::to_string(writers) + " writers");
    const TemporaryFolder folder;
    run_group(writers, [&](const ShardedRank& rank) { NumberedRun(rank, folder.path("run")).save(3); });
    for (const int readers : kRankCounts) {
      SCOPED_TRACE(std::to_string(readers) + " readers");
      run_group(readers, [&](const ShardedRank& rank) { EXPECT_EQ(NumberedRun(rank, folder.path("run")).load(), 3); });
    }
  }
}

// An optimizer over three parameters of which a rank updates its shard, with the moments of one step.
Ref<optim::Optimizer> make_optimizer(const ShardedRank& rank, const optim::Precision& precision) {
  optim::ParameterGroup group{.parameters = {}, .precision = precision};
  const auto ranks = make_ref<optim::LoneRank>();
  for (const int64_t size : {5 * kBlockSize + 17, 8 * kBlockSize, int64_t{31}}) {
    const auto weight = make_ref<Parameter>("weight", full(rank.device(), DType::kF32, {size}, 1.0));
    const Shard shard = {.begin = cut_at_blocks(size, rank.rank(), rank.size()),
                         .end = cut_at_blocks(size, rank.rank() + 1, rank.size())};
    optim::share(weight, shard, ranks);
    group.parameters.push_back({"weight", weight});
  }
  return make_ref<optim::AdamW>(group,
                                AdamwGroup{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0});
}

void take_step(const ShardedRank& rank, optim::Optimizer& optimizer) {
  for (const optim::OwnedParameter& owned : optimizer.parameters()) {
    const Shard& shard = owned.parameter().placement().shard();
    owned.parameter().placement().set_shard_grad(numbered_range(rank.device(), DType::kF32, 5, shard.begin, shard.end));
  }
  optimizer.step();
  optimizer.zero_grad();
}

// The bytes of whole tensors, which ranks collect.
class CollectedBytes {
 public:
  void add(const StateDict& state) {
    const std::lock_guard lock(mutex_);
    for (const StateTensor& entry : state.tensors()) {
      const std::string bytes = bytes_of(entry.tensor);
      std::string& whole = bytes_[entry.name];
      whole.resize(std::max(whole.size(), begin_of(entry) + bytes.size()));
      whole.replace(begin_of(entry), bytes.size(), bytes);
    }
  }
  void expect(const StateDict& state) const {
    ASSERT_EQ(state.tensors().size(), bytes_.size());
    for (const StateTensor& entry : state.tensors()) {
      const std::string bytes = bytes_of(entry.tensor);
      EXPECT_TRUE(bytes_.at(entry.name).substr(begin_of(entry), bytes.size()) == bytes) << entry.name;
    }
  }

 private:
  static size_t begin_of(const StateTensor& entry) {
    return static_cast<size_t>(entry.offset()) * size_of(entry.dtype());
  }

  std::mutex mutex_;
  std::map<std::string, std::string> bytes_;
};

TEST(SharedSave, P7_MomentsMoveBetweenAnyNumbersOfRanks) {
  const optim::Precision precisions[] = {
      {}, {.moment1_dtype = DType::kBF16}, {.moment1_dtype = DType::kI8, .moment2_dtype = DType::kU8}};
  for (const optim::Precision& precision : precisions) {
    for (const int writers : {1, 2, 4, 8}) {
      const TemporaryFolder folder;
      CollectedBytes saved;
      run_group(writers, [&](const ShardedRank& rank) {
        const Ref<optim::Optimizer> optimizer = make_optimizer(rank, precision);
        take_step(rank, *optimizer);
        rank.open(folder.path("run"), optimizer)->save(1);
        saved.add(state_of(*optimizer));
      });
      for (const int readers : kRankCounts) {
        run_group(readers, [&](const ShardedRank& rank) {
          const Ref<optim::Optimizer> optimizer = make_optimizer(rank, precision);
          EXPECT_EQ(rank.open(folder.path("run"), optimizer)->load(), 1);
          EXPECT_EQ(optimizer->step_count(), 1);
          saved.expect(state_of(*optimizer));
        });
      }
    }
  }
}

TEST(SharedSave, EveryRankGetsItsOwnRandomSequences) {
  const TemporaryFolder folder;
  run_group(3, [&](const ShardedRank& rank) {
    for (int64_t i = 0; i <= rank.rank(); ++i) rank.context->next_sequence();
    NumberedRun(rank, folder.path("run")).save(1);
  });
  run_group(3, [&](const ShardedRank& rank) {
    rank.context->set_generator(1, 99);
    NumberedRun(rank, folder.path("run")).load();
    EXPECT_EQ(rank.context->seed(), 100u + static_cast<uint64_t>(rank.rank()));
    EXPECT_EQ(rank.context->sequences_taken(), static_cast<uint64_t>(rank.rank()) + 1);
  });
}

TEST(SharedSave, WithoutRangesRank0AloneWrites) {
  const TemporaryFolder folder;
  run_group(3, [&](const ShardedRank& rank) {
    StateDict state;
    state.add("norm", numbered_range(rank.device(), DType::kF32, 1, 0, 16));
    rank.open(folder.path("run"), shared(std::move(state)))->save(1);
  });
  EXPECT_EQ(names_in(folder.path("run/step-1")), (std::vector<std::string>{"index.json", "rank-0-of-1.safetensors"}));
}

void flip_last_byte(const std::string& path) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(-1, std::ios::end);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(byte);
}

// The names of the tensors in a rank's file.
std::set<std::string> tensors_in(const std::string& path) {
  std::set<std::string> names;
  const checkpoint::SafetensorsFile file(system_io(), path);
  for (const checkpoint::TensorEntry& entry : file.header().tensors) names.insert(entry.name);
  return names;
}

TEST(SharedSave, ARankWritesItsRangesAndRank0WhatIsWhole) {
  const TemporaryFolder folder;
  run_group(2, [&](const ShardedRank& rank) { NumberedRun(rank, folder.path("run")).save(1); });
  const std::set<std::string> ranges = {"part/weight", "part/half", "part/codes", "part/scales"};
  std::set<std::string> first = ranges, second = ranges;
  first.insert("part/norm");
  second.insert("part/tiny");  // rank 0 has no element of it
  EXPECT_EQ(tensors_in(folder.path("run/step-1/rank-0-of-2.safetensors")), first);
  EXPECT_EQ(tensors_in(folder.path("run/step-1/rank-1-of-2.safetensors")), second);
}

// Two ranks have each of two shards, neighbours or not.
TEST(SharedSave, TheLowerOfTwoReplicasWritesAShard) {
  const auto shard_of = [](int64_t rank, bool are_neighbours) { return are_neighbours ? rank / 2 : rank % 2; };
  for (const bool are_neighbours : {false, true}) {
    const TemporaryFolder folder;
    run_group(4, [&](const ShardedRank& rank) {
      const int64_t shard = shard_of(rank.rank(), are_neighbours);
      rank.open(folder.path("run"), shared(numbered_part(rank.device(), 1, shard, 2)))->save(1);
    });
    std::vector<int64_t> writers;
    for (int64_t rank = 0; rank < 4; ++rank) {
      const std::string name = "run/step-1/" + checkpoint::file_name(rank, 4);
      if (!tensors_in(folder.path(name)).empty()) writers.push_back(rank);
    }
    EXPECT_EQ(writers, are_neighbours ? (std::vector<int64_t>{0, 2}) : (std::vector<int64_t>{0, 1}));
    run_group(3, [&](const ShardedRank& rank) { EXPECT_EQ(NumberedRun(rank, folder.path("run")).load(), 1); });
  }
}

// Rank 1 of three has another range of the 30 elements than it should.
void expect_refused(int64_t begin, int64_t end, const std::string& message) {
  const TemporaryFolder folder;
  run_group(3, [&](const ShardedRank& rank) {
    const NumberedRun run(rank, folder.path("run"));
    run.save(1);
    const int64_t first = rank.rank() == 1 ? begin : rank.rank() * 10;
    const int64_t last = rank.rank() == 1 ? end : rank.rank() * 10 + 10;
    run.own->state = StateDict();
    run.own->state.add_range("weight", numbered_range(rank.device(), DType::kF32, 1, first, last), {5, 6}, first);
    try {
      run.checkpoint->save(2);
      ADD_FAILURE() << "nothing was thrown, expected " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kFormat);
      EXPECT_EQ(error.what(), (rank.rank() == 0 ? "" : "rank 0: ") + message);
    }
    EXPECT_EQ(names_in(folder.path("run")), (std::vector<std::string>{".lock", "step-1"}));
    meet(rank);
    run.save(2);
  });
  run_group(1, [&](const ShardedRank& rank) { EXPECT_EQ(NumberedRun(rank, folder.path("run")).load(), 2); });
}

TEST(SharedSave, RangesThatOverlapOrLeaveAGapAreAnErrorOnAllRanksAndChangeNothing) {
  expect_refused(10, 19, "tensor part/weight: no rank has elements 19 to 20");
  expect_refused(9, 20, "tensor part/weight: two ranks have elements 9 to 10");
  expect_refused(10, 21, "tensor part/weight: two ranks have elements 20 to 21");
  expect_refused(11, 11, "tensor part/weight: no rank has elements 10 to 20");
}

// Four ranks hold the quarters of a matrix, by rows and columns; then two hold its columns, and one all of it.
TEST(SharedSave, BoxesOfAMatrixAreLoadedByAnotherNumberOfRanks) {
  const TemporaryFolder folder;
  const auto cell_of = [](const ShardedRank& rank) {
    const int64_t rows = rank.size() == 4 ? 4 : 8, columns = rank.size() == 1 ? 6 : 3;
    return Box{.view = {8, 6},
               .begin = {rank.size() == 4 ? rank.rank() / 2 * 4 : 0, rank.size() == 1 ? 0 : rank.rank() % 2 * 3},
               .size = {rows, columns}};
  };
  const auto part_of = [&](const ShardedRank& rank, bool is_filled) {
    const Box box = cell_of(rank);
    const Tensor all = numbered_range(rank.device(), DType::kF32, is_filled ? 1 : 2, 0, 48);
    const Tensor cell = contiguous(all.as_strided(box.size, {6, 1}, all.offset() + box.begin[0] * 6 + box.begin[1]));
    StateDict state;
    state.add_part("weight", cell, {.global_shape = {8, 6}, .box = std::make_shared<const Box>(box)});
    return state;
  };
  run_group(4, [&](const ShardedRank& rank) { rank.open(folder.path("run"), shared(part_of(rank, true)))->save(1); });
  for (const int readers : {1, 2, 4}) {
    run_group(readers, [&](const ShardedRank& rank) {
      const StateDict expected = part_of(rank, true), own = part_of(rank, false);
      EXPECT_EQ(rank.open(folder.path("run"), shared(own))->load(), 1);
      expect_same_tensors(own, expected);
    });
  }
}

// The system's files. Counts the bytes that a thread reads of tensors' files.
thread_local int64_t bytes_read = 0;
thread_local std::set<int64_t> tensor_files;

Io counting_io() {
  Io io = system_io();
  io.open = [](void*, const char* path, int32_t flags, uint32_t mode) -> int64_t {
    const int64_t file = system_io().open(nullptr, path, flags, mode);
    tensor_files.erase(file);
    if (std::string(path).ends_with(".safetensors")) tensor_files.insert(file);
    return file;
  };
  io.read = [](void*, int64_t file, uint64_t offset, void* buffer, size_t size) -> int64_t {
    const int64_t count = system_io().read(nullptr, file, offset, buffer, size);
    if (tensor_files.contains(file)) bytes_read += count;
    return count;
  };
  return io;
}

constexpr int64_t kLarge = int64_t{1} << 20;

StateDict large_part(const ShardedRank& rank) {
  StateDict state;
  const int64_t begin = cut_evenly(kLarge, rank.rank(), rank.size());
  const int64_t end = cut_evenly(kLarge, rank.rank() + 1, rank.size());
  state.add_range("weight", numbered_range(rank.device(), DType::kF32, 1, begin, end), {kLarge}, begin);
  return state;
}

// It verifies its share, and reads its range.
TEST(SharedSave, ARankReadsItsShareAndThePartsThatItNeedsAlone) {
  constexpr int64_t kBytes = kLarge * 4, kHeaders = 4096;
  const TemporaryFolder folder;
  run_group(4, [&](const ShardedRank& rank) { rank.open(folder.path("run"), shared(large_part(rank)))->save(1); });
  for (const int readers : {1, 2, 4}) {
    run_group(
        readers,
        [&](const ShardedRank& rank) {
          const Ref<Checkpoint> checkpoint = rank.open(folder.path("run"), shared(large_part(rank)));
          bytes_read = 0;
          EXPECT_EQ(checkpoint->load(), 1);
          EXPECT_GE(bytes_read, 2 * kBytes / readers);
          EXPECT_LE(bytes_read, 2 * kBytes / readers + kHeaders);
        },
        counting_io());
  }
}

// Ranges of a flat buffer, as sharding has them.
TEST(SharedSave, ASaveHoldsNoSecondCopyOfARanksShards) {
  const TemporaryFolder folder;
  run_group(2, [&](const ShardedRank& rank) {
    const Tensor flat = numbered_range(rank.device(), DType::kF32, 1, 0, kLarge);
    StateDict state;
    for (int64_t i = 0; i < 4; ++i) {
      const Tensor range = flat.as_strided({kLarge / 4}, {1}, i * (kLarge / 4));
      state.add_range("weight" + std::to_string(i), range, {kLarge / 2}, rank.rank() * (kLarge / 4));
    }
    const Ref<Checkpoint> checkpoint = rank.open(folder.path("run"), shared(std::move(state)));
    auto& allocator = *rank.device().allocator;
    allocator.reset_peak();
    const int64_t before = allocator.stats().current;
    checkpoint->save(1);
    EXPECT_EQ(allocator.stats().peak, before);
    EXPECT_EQ(checkpoint->load(), 1);
    EXPECT_EQ(allocator.stats().peak, before);
  });
}

// A bit of each rank's file in turn.
TEST(SharedSave, F17_DamageInAnyFileMakesAllRanksLoadTheCheckpointBefore) {
  for (int64_t damaged = 0; damaged < 3; ++damaged) {
    const TemporaryFolder folder;
    run_group(3, [&](const ShardedRank& rank) {
      const NumberedRun run(rank, folder.path("run"));
      run.save(1);
      run.save(2);
    });
    flip_last_byte(folder.path("run/step-2/" + checkpoint::file_name(damaged, 3)));
    for (const int readers : {1, 2, 4}) {
      run_group(readers, [&](const ShardedRank& rank) { EXPECT_EQ(NumberedRun(rank, folder.path("run")).load(), 1); });
    }
    flip_last_byte(folder.path("run/step-1/" + checkpoint::file_name(damaged, 3)));
    run_group(2, [&](const ShardedRank& rank) {
      const NumberedRun run(rank, folder.path("run"));
      EXPECT_EQ(code_of([&] { run.checkpoint->load(); }), Code::kFormat);
      expect_same_tensors(run.own->state, run.part(0));
    });
  }
}

}  // namespace
}  // namespace halftone::resume
