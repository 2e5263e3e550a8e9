// Processes that save a checkpoint together, while one of them is killed.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "comm/processes.h"
#include "comm/shared_memory_ranks.h"
#include "sharded_ranks.h"
#include "temporary_folder.h"

namespace halftone::resume {

inline constexpr int kRanks = 3;
inline constexpr std::chrono::seconds kTimeout{60};

// How the processes are connected.
struct Connection {
  const char* kind;
  const char* plugin = nullptr;
};

enum class Phase {
  kTell,      // the rank tells which ranges it has
  kBegin,     // rank 0 makes the folder
  kWrite,     // the rank has written half of its file
  kPublish,   // rank 0 writes the index
  kPublished  // the index is in its place
};

// The fault of a process, and the process that it kills.
struct Kill {
  bool is_armed = false;
  Phase phase = Phase::kTell;
  pid_t process = 0;

  void when(Phase reached) const {
    if (!is_armed || reached != phase) return;
    kill(process, SIGKILL);
    if (process == getpid()) pause();
  }
};
inline Kill armed;

// The system's files.
inline Io deadly_io() {
  Io io = system_io();
  io.make_directory = [](void*, const char* path, uint32_t mode) -> int64_t {
    armed.when(Phase::kBegin);
    return system_io().make_directory(nullptr, path, mode);
  };
  io.open = [](void*, const char* path, int32_t flags, uint32_t mode) -> int64_t {
    if (std::string(path).ends_with("index.json.tmp")) armed.when(Phase::kPublish);
    return system_io().open(nullptr, path, flags, mode);
  };
  io.write = [](void*, int64_t file, uint64_t offset, const void* buffer, size_t size) -> int64_t {
    if (offset > 0) armed.when(Phase::kWrite);
    return system_io().write(nullptr, file, offset, buffer, size);
  };
  io.rename = [](void*, const char* from, const char* to) -> int64_t {
    const int64_t result = system_io().rename(nullptr, from, to);
    if (std::string(to).ends_with("index.json")) armed.when(Phase::kPublished);
    return result;
  };
  return io;
}

// A tensor that is asked for its dtype when the rank tells what it has.
class Teller final : public StateReader {
 public:
  explicit Teller(ContextDevice& device) : device_(device) {}
  DType dtype() const noexcept override {
    armed.when(Phase::kTell);
    return DType::kF32;
  }
  const Shape& shape() const noexcept override { return shape_; }
  ContextDevice& device() const noexcept override { return device_; }
  void read(int64_t, const Tensor&) const override {}

 private:
  const Shape shape_ = {0};
  ContextDevice& device_;
};

// Memory that all processes of a test see.
struct Board {
  std::atomic<pid_t> processes[kRanks] = {};
};

class SharedBoard {
 public:
  SharedBoard()
      : board_(new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board()) {}
  ~SharedBoard() { munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board* operator->() const { return board_; }

 private:
  Board* board_;
};

inline StateDict state_with_teller(const ShardedRank& rank, int64_t number) {
  StateDict state = numbered_part(rank.device(), number, rank.rank(), rank.size());
  state.add_reader("teller", make_ref<Teller>(rank.device()));
  return state;
}

// From there on rank 0 needs nothing more of the others: it publishes, and the others may learn so before they learn of
// the loss.
inline bool is_published(Phase phase, int victim) {
  return phase == Phase::kPublished || (phase == Phase::kPublish && victim != 0);
}

// A process saves steps 1 and 2. In the second save `victim` dies.
inline void save_twice(const Connection& connection, const TemporaryFolder& folder, const SharedBoard& board,
                       int number, Phase phase, int victim) {
  board->processes[number] = getpid();
  const auto store = make_ref<SharedStore>(open_file_store(folder.path("store")));
  const ShardedRank rank(deadly_io(), connection.kind, store, number, kRanks,
                         std::chrono::nanoseconds(kTimeout).count(), connection.plugin);
  const Ref<SharedStateDict> own = shared(state_with_teller(rank, 1));
  const Ref<Checkpoint> checkpoint = rank.open(folder.path("run"), own);
  checkpoint->save(1);
  own->state = state_with_teller(rank, 2);
  const bool is_by_first = phase != Phase::kTell && phase != Phase::kWrite;
  armed = {.is_armed = number == (is_by_first ? 0 : victim), .phase = phase, .process = board->processes[victim]};
  const auto start = std::chrono::steady_clock::now();
  try {
    checkpoint->save(2);
    EXPECT_TRUE(is_published(phase, victim)) << "rank " << victim << " is dead";
    meet(rank);
    ADD_FAILURE() << "rank " << victim << " is dead";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
    EXPECT_NE(std::string(error.what()).find("rank " + std::to_string(victim)), std::string::npos) << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kTimeout + std::chrono::seconds(1));
}

// A run of one rank loads what is left, and saves on.
inline void expect_resumable(const std::string& folder, int64_t expected) {
  run_group(1, [&](const ShardedRank& rank) {
    const NumberedRun run(rank, folder);
    EXPECT_EQ(run.load(), expected);
    run.save(expected + 1);
    EXPECT_EQ(run.load(), expected + 1);
  });
}

inline void expect_survived(const Connection& connection, Phase phase, int victim) {
  SCOPED_TRACE("phase " + std::to_string(static_cast<int>(phase)) + ", rank " + std::to_string(victim));
  const TemporaryFolder folder;
  const SharedBoard board;
  std::vector<ChildProcess> processes;
  for (int number = 0; number < kRanks; ++number) {
    processes.emplace_back([&, number] { save_twice(connection, folder, board, number, phase, victim); });
  }
  for (int number = 0; number < kRanks; ++number) {
    EXPECT_EQ(processes[static_cast<size_t>(number)].wait(), number == victim ? -SIGKILL : 0) << "rank " << number;
  }
  ChildProcess resumed([&] { expect_resumable(folder.path("run"), is_published(phase, victim) ? 2 : 1); });
  EXPECT_EQ(resumed.wait(), 0);
}

inline void expect_survived_in_any_phase(const Connection& connection) {
  for (const Phase phase : {Phase::kTell, Phase::kBegin, Phase::kWrite, Phase::kPublish, Phase::kPublished}) {
    for (int victim = 0; victim < kRanks; ++victim) expect_survived(connection, phase, victim);
  }
}

}  // namespace halftone::resume
