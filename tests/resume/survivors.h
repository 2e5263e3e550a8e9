// Processes that train together until one of them dies: the others form a group again, load the last checkpoint in the
// same processes, and go on as a run that was started with as many ranks.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "comm/processes.h"
#include "comm/shared_memory_ranks.h"
#include "parallel/shards.h"
#include "sharded_ranks.h"
#include "temporary_folder.h"

namespace halftone::resume {

inline constexpr int kRanksAtFirst = 3;
inline constexpr int kSavedSteps = 2;
inline constexpr int kLastStep = 4;
inline constexpr std::chrono::seconds kDeadline{60};

struct SurvivorsCase {
  const char* kind;  // of the group
  const char* plugin = nullptr;
  bool is_sharded = false;
  size_t parameter = 0;  // whose gradient is the last thing that the victim computes
};

// The training of one rank.
class SurvivorsRun {
 public:
  SurvivorsRun(const ShardedRank& rank, const std::string& folder, bool is_sharded)
      : rank_(rank), task_(parallel::language_model()), model_(task_.make_model(rank.device())) {
    ProcessGroup& group = rank.group->process_group();
    if (is_sharded) {
      const parallel::ShardedOptions options = parallel::small_units(parallel::Sharding::kFull);
      sharded_ = parallel::Sharded::create(group, nullptr, *model_, options, {rank.group});
    } else {
      replica_ = make_ref<parallel::Replicate>(group, model_, parallel::small_buckets(), rank.group);
    }
    optimizer_ = parallel::make_adamw(*model_);
    checkpoint_ = rank.open(folder, model_);
    checkpoint_->add("optimizer", optimizer_);
  }

  Checkpoint& checkpoint() const { return *checkpoint_; }
  // Ends this process in the next backward.
  void die_at(size_t parameter) const {
    model_->parameters()[parameter].parameter->post_accumulate_hooks().add(
        [](AccumulateGrad&) { kill(getpid(), SIGKILL); });
  }
  void step(int number) const {
    const auto part = parallel::Part::of(number, static_cast<int>(rank_.rank()), static_cast<int>(rank_.size()));
    parallel::plain_step(task_, *model_, rank_.device(), *optimizer_, part);
  }
  std::vector<float> weights() const {
    return sharded_ ? parallel::gathered_weights(*sharded_, *model_) : parallel::weights_of(*model_);
  }

 private:
  const ShardedRank& rank_;
  const parallel::Task task_;
  const Ref<nn::Module> model_;
  Ref<parallel::Sharded> sharded_;
  Ref<parallel::Replicate> replica_;
  Ref<optim::Optimizer> optimizer_;
  Ref<Checkpoint> checkpoint_;
};

inline std::vector<float> resume(const ShardedRank& rank, const std::string& folder, bool is_sharded) {
  const SurvivorsRun run(rank, folder, is_sharded);
  EXPECT_EQ(run.checkpoint().load(), kSavedSteps);
  for (int step = kSavedSteps; step < kLastStep; ++step) run.step(step);
  return run.weights();
}

// Until the victim dies.
inline void train_until_lost(const ShardedRank& rank, const std::string& folder, const SurvivorsCase& setting,
                             int victim) {
  const SurvivorsRun run(rank, folder, setting.is_sharded);
  for (int step = 0; step < kSavedSteps; ++step) run.step(step);
  run.checkpoint().save(kSavedSteps);
  const auto start = std::chrono::steady_clock::now();
  // When the victim dies, others may still wait for messages of the step before, or have all that they need for this
  // one. They cannot finish the next one.
  const Error error = parallel::error_of([&] {
    run.step(kSavedSteps);
    if (rank.rank() == victim) run.die_at(setting.parameter);
    run.step(kSavedSteps + 1);
    run.step(kSavedSteps + 2);
  });
  EXPECT_EQ(error.code(), Code::kPeerLost) << error.what();
  EXPECT_TRUE(parallel::contains(error, ("rank " + std::to_string(victim)).c_str())) << error.what();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kDeadline + std::chrono::seconds(1));
}

inline ShardedRank join(const SurvivorsCase& setting, const std::string& store, int number, int size) {
  return {system_io(),   setting.kind, make_ref<SharedStore>(open_file_store(store)),
          number,        size,         std::chrono::nanoseconds(kDeadline).count(),
          setting.plugin};
}

inline void survive(const SurvivorsCase& setting, const TemporaryFolder& folder, int number, int victim) {
  train_until_lost(join(setting, folder.path("store"), number, kRanksAtFirst), folder.path("run"), setting, victim);
  const int again = number - (number > victim ? 1 : 0);
  const ShardedRank rank = join(setting, folder.path("again"), again, kRanksAtFirst - 1);
  const std::vector<float> weights = resume(rank, folder.path("run"), setting.is_sharded);
  if (again > 0) return;
  std::ofstream file(folder.path("weights"), std::ios::binary);
  file.write(reinterpret_cast<const char*>(weights.data()),
             static_cast<std::streamsize>(weights.size() * sizeof(float)));
}

inline std::vector<float> read_weights(const std::string& path, size_t count) {
  std::vector<float> weights(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(weights.data()), static_cast<std::streamsize>(count * sizeof(float)));
  EXPECT_TRUE(file.good()) << path;
  return weights;
}

inline void expect_survivors_go_on(const SurvivorsCase& setting) {
  for (int victim = 0; victim < kRanksAtFirst; ++victim) {
    SCOPED_TRACE("rank " + std::to_string(victim) + " dies");
    const TemporaryFolder folder;
    std::vector<ChildProcess> processes;
    for (int number = 0; number < kRanksAtFirst; ++number) {
      processes.emplace_back([&, number] { survive(setting, folder, number, victim); });
    }
    for (int number = 0; number < kRanksAtFirst; ++number) {
      EXPECT_EQ(processes[static_cast<size_t>(number)].wait(), number == victim ? -SIGKILL : 0) << "rank " << number;
    }
    // In a process of its own, since this one must not have threads when it forks.
    ChildProcess compared([&] {
      run_group(kRanksAtFirst - 1, [&](const ShardedRank& rank) {
        const std::vector<float> expected = resume(rank, folder.path("run"), setting.is_sharded);
        if (rank.rank() > 0) return;
        EXPECT_EQ(read_weights(folder.path("weights"), expected.size()), expected);
      });
    });
    EXPECT_EQ(compared.wait(), 0);
  }
}

}  // namespace halftone::resume
