// Power fails at every point in a series of saves, and leaves the disk in every possible state: P4(c), S7.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/memory_files.h"
#include "checkpoint/numbered_states.h"
#include "checkpoint/safetensors.h"
#include "rotation.h"

namespace halftone::checkpoint {
namespace {

class CrashTest : public NumberedStates<RoomTest> {
 protected:
  static constexpr const char* kPath = "/run";

  // Visits once every state of the disk that a failure after this many journal operations may leave.
  void for_each_state(const Disk& before, const MemoryFiles& files, size_t operations,
                      const std::function<void(const Disk&)>& visit) {
    Disk disk = before;
    for (size_t i = disk.nodes.size(); i < files.disk().nodes.size(); ++i) {
      disk.nodes.push_back({.is_directory = files.disk().nodes[i].is_directory});
    }
    std::set<std::string> seen;
    for_each_crash_state(disk, std::span(files.journal()).first(operations), [&](const Disk& state) {
      if (HasFailure() || !seen.insert(state.listing()).second) return;
      SCOPED_TRACE("after " + std::to_string(operations) + " operations:\n" + state.listing());
      visit(state);
    });
  }

  // The step that loads from the state after a failure; 0 if there is none.
  int64_t loaded_step(const Disk& disk) {
    MemoryFiles files(disk);
    const auto loaded = Directory(files.io(), system_clock(), kPath).load_latest(device());
    if (loaded) expect_state(*loaded, loaded->step);
    return loaded ? loaded->step : 0;
  }

  // A run continues from there, and power fails again at any point of its next save. Returns the number of visited
  // states.
  int64_t expect_resumable(const Disk& disk, int64_t step) {
    MemoryFiles files(disk);
    Directory(files.io(), system_clock(), kPath).save(step + 1, state(static_cast<double>(step + 1)));
    int64_t states = 0;
    const size_t end = files.journal().size();
    for (size_t done = 0; done <= end; ++done) {
      for_each_state(disk, files, done, [&](const Disk& left) {
        const int64_t again = loaded_step(left);
        EXPECT_GE(again, done < end ? step : step + 1);
        EXPECT_LE(again, step + 1);
        ++states;
      });
    }
    return states;
  }
};

TEST_F(CrashTest, P4_S7_EveryStateLoadsTheLastCheckpointOrTheOneBeingSaved) {
  MemoryFiles files;
  std::vector<size_t> ends;  // ends[i] is the length of the journal after save i returned
  {
    Directory directory(files.io(), system_clock(), kPath);
    for (int64_t step : {1, 2, 3}) {
      directory.save(step, state(static_cast<double>(step)));
      ends.push_back(files.journal().size());
    }
  }
  int64_t committed = 0, states = 0, second_states = 0;
  constexpr int64_t kShare = 8;  // of the second failures, under a sanitizer
  const Rotation rotation = Rotation::of_this_run(0);
  for (size_t done = 0; done <= files.journal().size(); ++done) {
    committed = std::count_if(ends.begin(), ends.end(), [&](size_t end) { return end <= done; });
    for_each_state({}, files, done, [&](const Disk& disk) {
      const int64_t step = loaded_step(disk);
      EXPECT_GE(step, committed);
      EXPECT_LE(step, std::min<int64_t>(committed + 1, 3));
      if (rotation.takes(static_cast<uint64_t>(states), kShare)) second_states += expect_resumable(disk, step);
      ++states;
    });
  }
  EXPECT_EQ(committed, 3);
  EXPECT_GT(states, 200);
  EXPECT_GT(second_states, rotation.is_full() ? 20000 : 20000 / kShare / 2);
}

// Two ranks write a checkpoint together: rank 1 has the second half of a tensor, rank 0 the rest.
TEST_F(CrashTest, P4_S7_EveryStateOfASaveOfSeveralRanksLoadsTheLastCheckpointOrTheOneBeingSaved) {
  MemoryFiles files;
  Directory directory(files.io(), system_clock(), kPath);
  directory.save(1, state(1));
  const size_t begin = files.journal().size();
  const auto save = directory.begin_save(2, 2);
  std::vector<Index> indexes;
  for (int64_t rank = 0; rank < 2; ++rank) {
    StateDict part;
    const StateDict whole = state(2);
    for (const StateTensor& entry : whole.tensors()) {
      if (entry.name == "weight") {
        part.add_range("weight", entry.tensor.as_strided({3}, {1}, rank * 3), entry.shape(), rank * 3);
      } else if (rank == 0) {
        part.add(entry.name, entry.tensor);
      }
    }
    for (const NamedScalar& scalar : whole.scalars()) part.add(scalar.name, scalar.value);
    const SaveRank own = {.step = 2, .save_id = save->id(), .rank = rank, .world_size = 2};
    indexes.push_back(directory.write_rank(own, part));
  }
  const size_t written = files.journal().size();
  save->finish(std::move(indexes));
  const size_t end = files.journal().size();
  int64_t states = 0;
  for (size_t done = begin; done <= end; ++done) {
    for_each_state({}, files, done, [&](const Disk& disk) {
      const int64_t step = loaded_step(disk);
      EXPECT_GE(step, done < end ? 1 : 2);
      EXPECT_LE(step, done <= written ? 1 : 2);
      ++states;
    });
  }
  EXPECT_GT(states, 50);
}

// Another process made the directory and died; the next one that opens it relies on it.
TEST_F(CrashTest, P4_S7_ADirectoryThatWasThereIsAsDurableAsOneThatIsMade) {
  MemoryFiles files;
  ASSERT_EQ(files.io().make_directory(files.io().user, "/run", 0777), 0);
  Directory(files.io(), system_clock(), kPath).save(1, state(1));
  for_each_state({}, files, files.journal().size(), [&](const Disk& disk) { EXPECT_EQ(loaded_step(disk), 1); });
}

TEST_F(CrashTest, S7_ADirectoryIsAsDurableHoweverManySlashesEndItsPath) {
  for (const char* path : {"/run/", "/run//"}) {
    MemoryFiles files;
    Directory(files.io(), system_clock(), path).save(1, state(1));
    for_each_state({}, files, files.journal().size(), [&](const Disk& disk) { EXPECT_EQ(loaded_step(disk), 1); });
  }
}

// The disk disappears in the middle of a save and comes back. Saving the same step again must be durable, whatever the
// failed calls did.
TEST_F(CrashTest, P4_S7_S14_AStepThatIsSavedAgainAfterAFailureIsDurable) {
  int64_t failures = 0;
  for (int64_t at = 0; !HasFailure(); ++at) {
    MemoryFiles files;
    Directory directory(files.io(), system_clock(), kPath);
    directory.save(1, state(1));
    files.set_fault(IoFault{.call = {}, .at = at, .error = EIO, .for_ever = true});
    if (code_of([&] { directory.save(2, state(2)); }) == Code::kOk) break;
    files.set_fault({});
    const size_t begin = files.journal().size();
    directory.save(2, state(2));
    const size_t end = files.journal().size();
    for (size_t done = begin; done <= end; ++done) {
      for_each_state({}, files, done, [&](const Disk& disk) { EXPECT_GE(loaded_step(disk), done < end ? 1 : 2); });
    }
    ++failures;
  }
  EXPECT_GT(failures, 20);
}

TEST_F(CrashTest, S7_AFileThatIsReplacedHoldsTheOldBytesOrTheNew) {
  MemoryFiles files;
  save_safetensors(files.io(), "/file", state(1), {});
  const size_t first = files.journal().size();
  save_safetensors(files.io(), "/file", state(2), {});
  std::set<double> found;
  for (size_t done = first; done <= files.journal().size(); ++done) {
    for_each_state({}, files, done, [&](const Disk& disk) {
      MemoryFiles left(disk);
      const StateDict loaded = SafetensorsFile(left.io(), "/file").read_all(device());
      const double step = values(loaded.find("weight")->tensor)[0];
      EXPECT_EQ(values(loaded.find("half")->tensor)[0], step);
      found.insert(step);
      if (done == files.journal().size()) {
        EXPECT_EQ(step, 2);
      }
    });
  }
  EXPECT_EQ(found, (std::set<double>{1, 2}));
}

}  // namespace
}  // namespace halftone::checkpoint
