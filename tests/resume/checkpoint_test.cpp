// Loads of a training run that fail: a disk that fails after the checks, and memory that runs out.
#include "resume/checkpoint.h"

#include <cerrno>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "autograd/weights/weights.h"
#include "checkpoint/memory_files.h"
#include "failing_allocations.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "optim/adamw.h"
#include "room_fixture.h"

namespace halftone::resume {
namespace {

// A small network and its optimizer in a context whose files are in memory.
class CheckpointTest : public testing::Test {
 protected:
  // A run that may train, save and load.
  struct Run {
    explicit Run(const Io& io, const optim::Precision& precision = {}) {
      ContextOptions options;
      options.num_threads = 2;
      options.seed = 7;
      options.io = io;
      context = make_ref<Context>(options);
      ContextDevice& device = context->device("cpu");
      std::vector<Ref<nn::Module>> layers = {make_ref<nn::Linear>(device, 6, 40, true, DType::kF32),
                                             make_ref<nn::Linear>(device, 40, 3, true, DType::kF32)};
      model = make_ref<nn::Sequential>(std::move(layers));
      optimizer = make_ref<optim::AdamW>(
          optim::ParameterGroup{.parameters = model->parameters(), .precision = precision},
          AdamwGroup{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.01});
      checkpoint = make_ref<Checkpoint>(context, "/run");
      checkpoint->add("model", model);
      checkpoint->add("optimizer", Ref<optim::Optimizer>(optimizer));
    }
    void train(double gradient) {
      for (const NamedParameter& named : model->parameters()) {
        named.parameter->accumulator().accumulate(
            full(context->device("cpu"), DType::kF32, named.parameter->shape(), gradient));
      }
      optimizer->step();
      optimizer->zero_grad();
    }
    std::vector<double> weights() const {
      std::vector<double> all;
      for (const NamedParameter& named : model->parameters()) {
        const Tensor read = named.parameter->weights().read(DType::kF32);
        std::vector<double> own(static_cast<size_t>(read.numel()));
        read_to_host(read, DType::kF64, own.data());
        all.insert(all.end(), own.begin(), own.end());
      }
      return all;
    }

    Ref<Context> context;
    Ref<nn::Module> model;
    Ref<optim::AdamW> optimizer;
    Ref<Checkpoint> checkpoint;
  };

  // Returns the message; empty if nothing was thrown.
  static std::string error_of(const std::function<void()>& action, Code expected) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), expected) << error.what();
      return error.what();
    }
    return "";
  }

  static bool is_partly_loaded(const std::string& message) {
    return message.find("partly loaded") != std::string::npos;
  }
};

// F30: every read of a load fails in turn. Those of the first reading change nothing. After a failure in the second one
// the state is a mix, which is not saved, until a load succeeds.
TEST_F(CheckpointTest, F30_AReadThatFailsAfterTheChecksIsToldAndTheMixIsNeverSaved) {
  for (const optim::Master master : {optim::Master::kFull, optim::Master::kSplit}) {
    MemoryFiles files;
    Run run(files.io(), {.compute_dtype = DType::kBF16, .master = master});
    run.train(1);
    run.checkpoint->save(1);
    const std::vector<double> saved = run.weights();
    int64_t untouched = 0, mixed = 0;
    for (int64_t at = 0;; ++at) {
      SCOPED_TRACE(at);
      run.train(-1);
      const std::vector<double> before = run.weights();
      files.set_fault(IoFault{.call = IoCall::kRead, .at = at, .error = EIO, .for_ever = false});
      const std::string message = error_of([&] { run.checkpoint->load(); }, Code::kIo);
      const bool has_failed = files.has_failed();
      files.set_fault({});
      if (!has_failed) break;
      if (is_partly_loaded(message)) {
        ++mixed;
        EXPECT_NE(error_of([&] { run.checkpoint->save(2); }, Code::kState), "");
        EXPECT_EQ(run.checkpoint->latest(), 1);
      } else {
        ++untouched;
        EXPECT_NE(message, "");
        EXPECT_EQ(run.weights(), before);
      }
      EXPECT_EQ(run.checkpoint->load(), 1);
      EXPECT_EQ(run.weights(), saved);
    }
    EXPECT_GT(untouched, 0);
    // Weights, biases and two moments of two layers, each in a read of its own.
    EXPECT_EQ(mixed, 12);
    run.checkpoint->save(3);
    EXPECT_EQ(run.checkpoint->latest(), 3);
  }
}

// F30: the file changes in its place, before any read of a load in turn.
TEST_F(CheckpointTest, F30_BytesThatChangeAfterTheChecksAreToldAndTheMixIsNeverSaved) {
  MemoryFiles files;
  Run run(files.io());
  run.train(1);
  run.checkpoint->save(1);
  const std::vector<double> saved = run.weights();
  int64_t untouched = 0, mixed = 0;
  for (int64_t at = 0;; ++at) {
    SCOPED_TRACE(at);
    run.train(-1);
    const std::vector<double> before = run.weights();
    files.flip_bit_of_read(at);
    const std::string message = error_of([&] { run.checkpoint->load(); }, Code::kFormat);
    const bool has_flipped = files.has_flipped();
    files.flip_bit_of_read(-1);
    if (!has_flipped) break;
    if (is_partly_loaded(message)) {
      ++mixed;
      EXPECT_NE(error_of([&] { run.checkpoint->save(2); }, Code::kState), "");
    } else {
      ++untouched;
      EXPECT_NE(message, "");
      EXPECT_EQ(run.weights(), before);
    }
    EXPECT_EQ(run.checkpoint->load(), 1);
    EXPECT_EQ(run.weights(), saved);
  }
  EXPECT_GT(untouched, 0);
  EXPECT_EQ(mixed, 12);
}

// Everything that a load needs is allocated before its first write.
TEST_F(CheckpointTest, M1_AnyAllocationOfALoadMayFailAndNothingHasChanged) {
  for (const optim::Master master : {optim::Master::kFull, optim::Master::kSplit}) {
    MemoryFiles files;
    Run run(files.io(), {.compute_dtype = DType::kBF16, .master = master});
    run.train(1);
    run.checkpoint->save(1);
    const std::vector<double> saved = run.weights();
    run.train(-1);
    const std::vector<double> before = run.weights();
    int64_t failures = 0;
    for (bool has_failed = true; has_failed && !HasFailure(); ++failures) {
      SCOPED_TRACE(failures);
      bool is_out_of_memory = false;
      fail_allocation(failures, 0);
      try {
        run.checkpoint->load();
      } catch (const std::bad_alloc&) {
        is_out_of_memory = true;
      } catch (const Error& error) {
        is_out_of_memory = error.code() == Code::kOutOfMemory;
      }
      has_failed = has_allocation_failed() != 0;
      ignore_allocations();
      EXPECT_EQ(is_out_of_memory, has_failed);
      EXPECT_EQ(run.weights(), has_failed ? before : saved);
    }
    EXPECT_GT(failures, 100);
    run.checkpoint->save(2);
  }
}

TEST_F(CheckpointTest, AFailedLoadThatChangedNothingForbidsNoSave) {
  MemoryFiles files;
  Run run(files.io());
  run.checkpoint->save(1);
  files.set_fault(IoFault{.call = IoCall::kRead, .at = 0, .error = EIO, .for_ever = true});
  EXPECT_NE(error_of([&] { run.checkpoint->load(); }, Code::kIo), "");
  files.set_fault({});
  run.checkpoint->save(2);
  EXPECT_EQ(run.checkpoint->latest(), 2);
}

}  // namespace
}  // namespace halftone::resume
