// Ranks whose masters and moments are in host memory or in a file while they are not used.
#include <atomic>
#include <cerrno>

#include "autograd/scope.h"
#include "nn/state.h"
#include "ops/dispatch/autocast.h"
#include "optim/state.h"
#include "parallel/shards.h"
#include "sanitizers.h"
#include "temporary_folder.h"

namespace halftone::parallel {
namespace {

constexpr int64_t kSmallPages = 2048;  // bytes: several pages in each unit

const char* name_of(Offload offload) { return offload == Offload::kHost ? "memory" : "file"; }

class OffloadTest : public testing::TestWithParam<Offload> {
 protected:
  ShardedOptions offloaded(ShardedOptions options) const {
    options.offload = GetParam();
    options.offload_directory = folder_.path();
    options.offload_page = kSmallPages;
    return options;
  }
  std::vector<float> train_on(int ranks, const Task& task, MakeOptimizer make_optimizer,
                              const ShardedOptions& options) const {
    std::vector<std::vector<float>> all(static_cast<size_t>(ranks));
    const Ref<AutocastPolicy> policy = make_ref<AutocastPolicy>(DType::kBF16);
    run_ranks(ranks, [&](Rank& rank) {
      const ScopeGuard restore;
      if (options.weight_dtype != DType::kF32) scope().autocast = policy.get();
      all[static_cast<size_t>(rank.number())] = train_sharded(rank, task, make_optimizer, options);
    });
    return all[0];
  }

  TemporaryFolder folder_;
};

Ref<optim::Optimizer> make_8_bit_adamw(const nn::Module& model) {
  optim::ParameterGroup group = {.parameters = model.parameters(), .precision = {}};
  group.precision.moment1_dtype = DType::kI8;
  group.precision.moment2_dtype = DType::kU8;
  return make_ref<optim::AdamW>(
      group, AdamwGroup{.lr = 0.005, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1});
}

TEST_P(OffloadTest, WeightsHaveTheBitsOfRanksThatKeepTheirState) {
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kFull}) {
    if (kThreadSanitizer && sharding != Sharding::kFull) continue;
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF8E4M3}) {
      ShardedOptions options = small_units(sharding);
      options.units.least_elements = 200;
      options.weight_dtype = dtype;
      for (const MakeOptimizer make_optimizer : {make_adamw, make_sgd, make_8_bit_adamw}) {
        if (dtype == DType::kF8E4M3 && make_optimizer != make_adamw) continue;  // the masters are the same
        for (const int ranks : {1, 2}) {
          SCOPED_TRACE(testing::Message() << "sharding " << static_cast<int>(sharding) << ", weights "
                                          << halftone::name_of(dtype) << ", ranks " << ranks);
          EXPECT_EQ(train_on(ranks, language_model(), make_optimizer, offloaded(options)),
                    train_on(ranks, language_model(), make_optimizer, options));
        }
      }
    }
  }
}

constexpr int64_t kWidth = 500;
constexpr int kLayers = 8;
constexpr int64_t kParameters = kLayers * (kWidth + 1) * kWidth;
// Gradients; masters and moments of three windows of one layer; two megabytes.
constexpr int64_t kLimit = 4 * kParameters + 9 * (4 * kParameters / kLayers) + (2 << 20);

Ref<nn::Module> make_layers(ContextDevice& device) {
  std::vector<Ref<nn::Module>> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back(make_ref<nn::Linear>(device, kWidth, kWidth, true, DType::kF32));
  }
  return make_ref<nn::Sequential>(std::move(layers));
}

void take_step(const nn::Module& model, ContextDevice& device, optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  run_backward_of(ops::sum(model.run(full(device, DType::kF32, {1, kWidth}, 0.01)), {}, false));
  optimizer.step();
}

// 16 bytes a parameter are too many for one rank; with masters and moments elsewhere, gradients and three windows stay.
TEST_P(OffloadTest, OneRankTrainsAModelWhoseStateExceedsTheLimit) {
  run_ranks(1, [&](Rank& rank) {
    ContextDevice& device = rank.device();
    const Ref<nn::Module> model = make_layers(device);
    ShardedOptions options = offloaded(small_units(Sharding::kFull));
    options.offload_page = kWidth * kWidth * 4;
    const Ref<Sharded> sharded = shard(rank, *model, options);
    device.allocator->release_cached();
    device.allocator->set_limit(kLimit);
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    EXPECT_LE(device.allocator->stats().by_category[static_cast<int>(Category::kOptimizer)], 1 << 16);
    for (int step = 0; step < 3; ++step) EXPECT_NO_THROW(take_step(*model, device, *optimizer)) << step;
    EXPECT_EQ(device.allocator->stats().by_category[static_cast<int>(Category::kParameters)], 0);
    EXPECT_NEAR(static_cast<double>(sharded->offloaded_bytes()), 12.0 * kParameters, 0.03 * 12 * kParameters);
    device.allocator->set_limit(0);
  });
}

// 16 bytes a parameter are more than the limit of the test before.
TEST(Offload, WithoutItTheLimitIsExceeded) {
  run_ranks(1, [&](Rank& rank) {
    ContextDevice& device = rank.device();
    const Ref<nn::Module> model = make_layers(device);
    const Ref<Sharded> sharded = shard(rank, *model, small_units(Sharding::kFull));
    device.allocator->release_cached();
    device.allocator->set_limit(kLimit);
    EXPECT_EQ(error_of([&] {
                const Ref<optim::Optimizer> optimizer = make_adamw(*model);
                take_step(*model, device, *optimizer);
              }).code(),
              Code::kOutOfMemory);
    device.allocator->set_limit(0);
  });
}

// The state of an offloaded optimizer and model, loaded into one that is not, and back.
TEST_P(OffloadTest, StateGoesToAndFromStateThatIsKept) {
  const Task task = language_model();
  const auto train = [&](Rank& rank, const ShardedOptions& first, const ShardedOptions& second) {
    rank.context->set_generator(7, 0);
    const Ref<nn::Module> model = task.make_model(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, first);
    const Ref<optim::Optimizer> optimizer = make_8_bit_adamw(*model);
    for (int step = 0; step < 3; ++step) {
      plain_step(task, *model, rank.device(), *optimizer, Part::of(step, rank.number(), rank.group->size()));
    }
    const Ref<nn::Module> other = task.make_model(rank.device());
    const Ref<Sharded> other_sharded = shard(rank, *other, second);
    const Ref<optim::Optimizer> other_optimizer = make_8_bit_adamw(*other);
    nn::stage_state(*other, nn::state_of(*model), true)();
    optim::stage_state(*other_optimizer, optim::state_of(*optimizer))();
    for (int step = 3; step < 6; ++step) {
      plain_step(task, *other, rank.device(), *other_optimizer, Part::of(step, rank.number(), rank.group->size()));
    }
    return gathered_weights(*other_sharded, *other);
  };
  run_ranks(2, [&](Rank& rank) {
    const ShardedOptions kept = small_units(Sharding::kFull), away = offloaded(kept);
    const std::vector<float> expected = train(rank, kept, kept);
    EXPECT_EQ(train(rank, away, kept), expected);
    EXPECT_EQ(train(rank, kept, away), expected);
    EXPECT_EQ(train(rank, away, away), expected);
  });
}

TEST_P(OffloadTest, ASecondOptimizerBeginsWithMomentsOfZero) {
  run_ranks(1, [&](Rank& rank) {
    const auto train = [&](const ShardedOptions& options) {
      const Task task = perceptron();
      rank.context->set_generator(7, 0);
      const Ref<nn::Module> model = task.make_model(rank.device());
      const Ref<Sharded> sharded = shard(rank, *model, options);
      for (int round = 0; round < 2; ++round) {
        const Ref<optim::Optimizer> optimizer = make_adamw(*model);
        for (int step = 0; step < 2; ++step) {
          plain_step(task, *model, rank.device(), *optimizer, Part::of(step, 0, 1));
        }
      }
      return gathered_weights(*sharded, *model);
    };
    EXPECT_EQ(train(offloaded(small_units(Sharding::kFull))), train(small_units(Sharding::kFull)));
  });
}

TEST_P(OffloadTest, SplitMastersAreRefused) {
  run_ranks(1, [&](Rank& rank) {
    const Ref<nn::Module> model = perceptron().make_model(rank.device());
    const Ref<Sharded> sharded = shard(rank, *model, offloaded(small_units(Sharding::kFull)));
    optim::ParameterGroup group = {.parameters = model->parameters(), .precision = {}};
    group.precision.compute_dtype = DType::kBF16;
    group.precision.master = optim::Master::kSplit;
    const Error error = error_of([&] { make_ref<optim::AdamW>(group, AdamwGroup{}); });
    EXPECT_EQ(error.code(), Code::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("offloaded: expected master_storage full"), std::string::npos);
  });
}

// The file's disk has room for so many more writes, and serves so many more reads.
std::atomic<int> writes_left{1 << 30}, reads_left{1 << 30};

Io io_of_small_disk() {
  Io io = system_io();
  io.read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) -> int64_t {
    if (reads_left.fetch_sub(1) <= 0) return -EIO;
    return system_io().read(user, file, offset, buffer, size);
  };
  io.write = [](void* user, int64_t file, uint64_t offset, const void* buffer, size_t size) -> int64_t {
    if (writes_left.fetch_sub(1) <= 0) return -ENOSPC;
    return system_io().write(user, file, offset, buffer, size);
  };
  return io;
}

// One process, whose state is in a file on that disk.
struct Trainee {
  explicit Trainee(const std::string& folder) {
    ShardedOptions options = small_units(Sharding::kFull);
    options.offload = Offload::kFile;
    options.offload_directory = folder;
    options.offload_page = kSmallPages;
    sharded = Sharded::create(*group, nullptr, *model, options);
  }
  static ContextOptions settings() {
    ContextOptions settings;
    settings.num_threads = 1;
    settings.seed = 7;
    settings.io = io_of_small_disk();
    return settings;
  }

  const Ref<Context> context = make_ref<Context>(settings());
  ContextDevice& device = context->device("cpu");
  const OwnedGroup group = create_group("single", *context, {.device = device.device});
  const Task task = language_model();
  const Ref<nn::Module> model = task.make_model(device);
  Ref<Sharded> sharded;
};

// A read fails in forward or backward: weights and moments are as before, so that the step can be taken again.
TEST(Offload, AFailedReadEndsTheStepBeforeAnythingChanges) {
  const TemporaryFolder folder;
  const auto train = [&](bool has_faults) {
    const Trainee trainee(folder.path());
    const Ref<optim::Optimizer> optimizer = make_adamw(*trainee.model);
    int failed = 0;
    for (int number = 0; number < 3; ++number) {
      const auto step = [&] {
        plain_step(trainee.task, *trainee.model, trainee.device, *optimizer, Part::of(number, 0, 1));
      };
      for (int reads = 0; has_faults && number > 0 && reads < 6; ++reads) {
        reads_left = reads;
        EXPECT_EQ(error_of(step).code(), Code::kIo) << "after " << reads << " reads";
        reads_left = 1 << 30;
        ++failed;
      }
      step();
    }
    EXPECT_EQ(failed, has_faults ? 12 : 0);
    return gathered_weights(*trainee.sharded, *trainee.model);
  };
  EXPECT_EQ(train(true), train(false));
}

// The step that the disk ends has updated a part of the weights. What was saved before goes on as if nothing had been.
TEST(Offload, AfterAFullDiskASavedStateGoesOn) {
  const TemporaryFolder folder;
  const auto train = [&](bool has_fault) {
    writes_left = 1 << 30;
    const Trainee trainee(folder.path());
    const Task& task = trainee.task;
    const Ref<nn::Module>& model = trainee.model;
    ContextDevice& device = trainee.device;
    const Ref<optim::Optimizer> optimizer = make_adamw(*model);
    const auto step = [&](int number) { plain_step(task, *model, device, *optimizer, Part::of(number, 0, 1)); };
    for (int number = 0; number < 3; ++number) step(number);
    const StateDict weights = in_memory(nn::state_of(*model)), moments = in_memory(optim::state_of(*optimizer));
    if (has_fault) {
      writes_left = 5;
      EXPECT_EQ(error_of([&] { step(3); }).code(), Code::kIo);
      writes_left = 1 << 30;
      nn::stage_state(*model, weights, true)();
      optim::stage_state(*optimizer, moments)();
    }
    for (int number = 3; number < 6; ++number) step(number);
    return gathered_weights(*trainee.sharded, *model);
  };
  EXPECT_EQ(train(true), train(false));
}

INSTANTIATE_TEST_SUITE_P(Kinds, OffloadTest, testing::Values(Offload::kHost, Offload::kFile),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace halftone::parallel
