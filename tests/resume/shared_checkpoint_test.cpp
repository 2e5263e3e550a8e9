// Checkpoints of the ranks of a group: rank 0 writes, all load, and an error of one is an error of all.
#include <cerrno>
#include <string>
#include <vector>

#include "autograd/weights/weights.h"
#include "comm/group/shared_store.h"
#include "comm/ranks.h"
#include "nn/linear.h"
#include "optim/sgd.h"
#include "temporary_folder.h"
#include "tensor/factory.h"
#include "resume/checkpoint.h"

namespace halftone::resume {
namespace {

constexpr int kRanks = 3;

thread_local bool reads_fail = false;

// The system's files; reads of a thread fail on demand.
Io failing_io() {
  Io io = system_io();
  io.read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) noexcept -> int64_t {
    return reads_fail ? -EIO : system_io().read(user, file, offset, buffer, size);
  };
  return io;
}

// One rank with a network and its optimizer, and a seed of its own.
struct TrainingRank {
  TrainingRank(const Ref<SharedStore>& store, int rank, int size) {
    ContextOptions options;
    options.num_threads = 1;
    options.seed = 100 + static_cast<uint64_t>(rank);
    options.io = failing_io();
    context = make_ref<Context>(options);
    ContextDevice& device = context->device("cpu");
    group = make_ref<Group>("threads", device, store,
                            GroupOptions{.rank = rank, .size = size, .timeout_ns = 10'000 * kMillisecond});
    model = make_ref<nn::Linear>(device, 4, 3, true, DType::kF32);
    for (const NamedParameter& named : model->parameters()) {
      fill(named.parameter->weights().master(), 1);  // the ranks begin alike
    }
    optimizer = make_ref<optim::Sgd>(
        optim::ParameterGroup{.parameters = model->parameters(), .precision = {}},
        SgdGroup{.lr = 0.5, .momentum = 0.9, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0});
  }

  int rank() const { return (*group)->rank(); }
  Ref<Checkpoint> open(const std::string& folder) const {
    auto checkpoint = make_ref<Checkpoint>(context, folder, group);
    checkpoint->add("model", Ref<nn::Module>(model));
    checkpoint->add("optimizer", Ref<optim::Optimizer>(optimizer));
    return checkpoint;
  }
  // Also draws random numbers: each rank another count of them.
  void train(double gradient) const {
    for (const NamedParameter& named : model->parameters()) {
      named.parameter->accumulator().accumulate(
          full(context->device("cpu"), DType::kF32, named.parameter->shape(), gradient));
    }
    optimizer->step();
    optimizer->zero_grad();
    for (int i = 0; i <= rank(); ++i) context->next_sequence();
  }
  std::vector<float> weights() const {
    std::vector<float> all(12);
    read_to_host(model->parameters()[0].parameter->weights().read(DType::kF32), DType::kF32, all.data());
    return all;
  }

  Ref<Context> context;
  Ref<Group> group;
  Ref<nn::Linear> model;
  Ref<optim::Sgd> optimizer;
};

// Runs body(run) on a thread for each rank of a new group.
void run_all(int size, const std::function<void(TrainingRank& run)>& body) {
  const Ref<SharedStore> store = make_ref<SharedStore>(create_memory_store());
  std::vector<std::unique_ptr<TrainingRank>> runs;
  for (int rank = 0; rank < size; ++rank) runs.push_back(std::make_unique<TrainingRank>(store, rank, size));
  std::vector<std::thread> threads;
  for (std::unique_ptr<TrainingRank>& joined : runs) {
    threads.emplace_back([&] {
      const std::unique_ptr<TrainingRank> run = std::move(joined);
      body(*run);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void expect_error(const std::function<void()>& action, Code code, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown, expected " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(SharedCheckpoint, EveryRankGoesOnAsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  std::vector<std::vector<float>> straight(kRanks);
  std::vector<uint64_t> sequences(kRanks);
  run_all(kRanks, [&](TrainingRank& run) {
    const Ref<Checkpoint> checkpoint = run.open(folder.path("run"));
    EXPECT_EQ(checkpoint->load(), -1);
    run.train(0.25);
    checkpoint->save(1);
    run.train(-1);
    run.train(3);
    straight[static_cast<size_t>(run.rank())] = run.weights();
    sequences[static_cast<size_t>(run.rank())] = run.context->sequences_taken();
  });
  run_all(kRanks, [&](TrainingRank& run) {
    run.train(7);  // some other state
    const Ref<Checkpoint> checkpoint = run.open(folder.path("run"));
    EXPECT_EQ(checkpoint->latest(), 1);
    EXPECT_EQ(checkpoint->load(), 1);
    EXPECT_EQ(run.context->seed(), 100u + static_cast<uint64_t>(run.rank()));
    run.train(-1);
    run.train(3);
    EXPECT_EQ(run.weights(), straight[static_cast<size_t>(run.rank())]);
    EXPECT_EQ(run.context->sequences_taken(), sequences[static_cast<size_t>(run.rank())]);
    checkpoint->save(3);
  });
}

TEST(SharedCheckpoint, AnotherNumberOfRanksLoadsIt) {
  const TemporaryFolder folder;
  std::vector<float> saved;
  uint64_t sequences = 0;
  run_all(2, [&](TrainingRank& run) {
    run.train(0.25);
    run.open(folder.path("run"))->save(1);
    if (run.rank() == 0) saved = run.weights();
    if (run.rank() == 0) sequences = run.context->sequences_taken();
  });
  run_all(4, [&](TrainingRank& run) {
    EXPECT_EQ(run.open(folder.path("run"))->load(), 1);
    EXPECT_EQ(run.weights(), saved);
    EXPECT_EQ(run.context->seed(), 100u + static_cast<uint64_t>(run.rank())) << "a new rank keeps its seed";
    if (run.rank() > 1) {
      EXPECT_EQ(run.context->sequences_taken(), sequences);
    }
  });
  run_all(1, [&](TrainingRank& run) {
    EXPECT_EQ(run.open(folder.path("run"))->load(), 1);
    EXPECT_EQ(run.weights(), saved);
  });
}

TEST(SharedCheckpoint, ARankWithoutTheFilesIsNamedOnAllRanks) {
  const TemporaryFolder folder;
  run_all(kRanks, [&](TrainingRank& run) {
    const std::string path = folder.path(run.rank() == 2 ? "elsewhere" : "run");
    expect_error([&] { run.open(path); }, Code::kIo, run.rank() == 2 ? "open the directory" : "rank 2: ");
  });
}

TEST(SharedCheckpoint, AReadThatFailsOnOneRankChangesNoRank) {
  const TemporaryFolder folder;
  run_all(kRanks, [&](TrainingRank& run) {
    const Ref<Checkpoint> checkpoint = run.open(folder.path("run"));
    run.train(0.25);
    checkpoint->save(1);
    run.train(1);
    const std::vector<float> before = run.weights();
    reads_fail = run.rank() == 1;
    expect_error([&] { checkpoint->load(); }, Code::kIo, run.rank() == 1 ? "read" : "rank 1: ");
    reads_fail = false;
    EXPECT_EQ(run.weights(), before);
    checkpoint->save(2);
    EXPECT_EQ(checkpoint->load(), 2);
  });
}

TEST(SharedCheckpoint, ASaveThatFailsOnRank0FailsOnAll) {
  const TemporaryFolder folder;
  run_all(kRanks, [&](TrainingRank& run) {
    const Ref<Checkpoint> checkpoint = run.open(folder.path("run"));
    checkpoint->save(5);
    expect_error([&] { checkpoint->save(5); }, Code::kState, run.rank() == 0 ? "already" : "rank 0: ");
    checkpoint->save(6);
  });
}

TEST(SharedCheckpoint, RanksThatSaveDifferentStepsAreTold) {
  const TemporaryFolder folder;
  run_all(kRanks, [&](TrainingRank& run) {
    const Ref<Checkpoint> checkpoint = run.open(folder.path("run"));
    expect_error([&] { checkpoint->save(run.rank() == 2 ? 4 : 3); }, Code::kComm, "rank 0 saves step 3, rank 2 step 4");
    EXPECT_EQ(checkpoint->latest(), -1);
  });
}

TEST(SharedCheckpoint, ARankThatIsLostIsAnErrorOfTheOthers) {
  const TemporaryFolder folder;
  run_all(kRanks, [&](TrainingRank& run) {
    const Ref<Checkpoint> checkpoint = run.open(folder.path("run"));
    if (run.rank() == 1) return run.group->process_group().abort("a test");
    expect_error([&] { checkpoint->save(1); }, Code::kPeerLost, "rank 1");
  });
}

}  // namespace
}  // namespace halftone::resume
