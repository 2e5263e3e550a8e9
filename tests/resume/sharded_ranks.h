// Ranks that each hold their ranges of the same tensors, for tests of checkpoints that all of them write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/chunks.h"
#include "comm/group/agreement.h"
#include "comm/group/shared_store.h"
#include "comm/ranks.h"
#include "tensor/factory.h"
#include "tensor/state_dict.h"
#include "resume/checkpoint.h"

namespace halftone::resume {

// One rank: a context and its group.
struct ShardedRank {
  ShardedRank(const Io& io, const char* kind, const Ref<SharedStore>& store, int number, int size,
              int64_t timeout_ns = 10'000 * kMillisecond, const char* plugin = nullptr) {
    ContextOptions options;
    options.num_threads = 1;
    options.seed = 100 + static_cast<uint64_t>(number);
    options.io = io;
    context = make_ref<Context>(options);
    if (plugin != nullptr) context->load_plugin(plugin);
    group =
        make_ref<Group>(kind, device(), store,
                        GroupOptions{.rank = number, .size = size, .timeout_ns = timeout_ns, .interface = "127.0.0.1"});
  }

  ContextDevice& device() const { return context->device("cpu"); }
  int64_t rank() const { return (*group)->rank(); }
  int64_t size() const { return (*group)->size(); }
  template <class Object>
  Ref<Checkpoint> open(const std::string& folder, const Ref<Object>& part) const {
    auto checkpoint = make_ref<Checkpoint>(context, folder, group);
    checkpoint->add("part", part);
    return checkpoint;
  }

  Ref<Context> context;
  Ref<Group> group;
};

// Runs body(rank) on a thread for each rank of a new group.
inline void run_group(int size, const std::function<void(const ShardedRank& rank)>& body, const Io& io = system_io()) {
  const Ref<SharedStore> store = make_ref<SharedStore>(create_memory_store());
  std::vector<std::unique_ptr<ShardedRank>> ranks;
  for (int number = 0; number < size; ++number) {
    ranks.push_back(std::make_unique<ShardedRank>(io, "threads", store, number, size));
  }
  std::vector<std::thread> threads;
  for (std::unique_ptr<ShardedRank>& joined : ranks) {
    threads.emplace_back([&] {
      const std::unique_ptr<ShardedRank> rank = std::move(joined);
      try {
        body(*rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank->rank() << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A tensor whose bits depend on a number, and the range of it that a rank has.
struct ShardedTensor {
  const char* name;
  DType dtype;
  Shape shape;
  int64_t (*cut)(int64_t size, int64_t rank, int64_t ranks);  // where the range of `rank` begins
};

inline int64_t cut_evenly(int64_t size, int64_t rank, int64_t ranks) { return size * rank / ranks; }
// No block of an 8-bit moment is cut.
inline int64_t cut_at_blocks(int64_t size, int64_t rank, int64_t ranks) {
  const int64_t blocks = (size + kBlockSize - 1) / kBlockSize;
  return std::min(blocks * rank / ranks * kBlockSize, size);
}

inline constexpr int64_t kCodes = 5 * kBlockSize + 17;
// With a scale for each block of the codes. The last has less than a block: the last rank has all of it, and the others
// nothing.
inline const ShardedTensor kShardedTensors[] = {
    {"weight", DType::kF32, {7, 301}, cut_evenly},  {"half", DType::kBF16, {129}, cut_evenly},
    {"codes", DType::kU8, {kCodes}, cut_at_blocks}, {"scales", DType::kF32, {6}, cut_evenly},
    {"tiny", DType::kI8, {31}, cut_at_blocks},
};

// Elements [begin, end) of a flattened tensor.
inline Tensor numbered_range(ContextDevice& device, DType dtype, int64_t number, int64_t begin, int64_t end) {
  std::vector<double> values;
  for (int64_t i = begin; i < end; ++i) values.push_back(static_cast<double>((number * 7 + i) % 120));
  return converted(from_host(device, DType::kF64, {end - begin}, values.data()), dtype);
}

// The part of a numbered state that a rank of `ranks` has: ranges, a tensor that is whole on all ranks, and a scalar.
inline StateDict numbered_part(ContextDevice& device, int64_t number, int64_t rank, int64_t ranks) {
  StateDict state;
  for (const ShardedTensor& tensor : kShardedTensors) {
    const int64_t size = numel(tensor.shape);
    const int64_t begin = tensor.cut(size, rank, ranks), end = tensor.cut(size, rank + 1, ranks);
    state.add_range(tensor.name, numbered_range(device, tensor.dtype, number, begin, end), tensor.shape, begin);
  }
  state.add("norm", numbered_range(device, DType::kF32, number, 0, 16));
  state.add("number", number);
  return state;
}

inline Ref<SharedStateDict> shared(StateDict state) { return make_ref<SharedStateDict>(std::move(state)); }

inline std::string bytes_of(const Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype())};
}

inline void expect_same_tensors(const StateDict& state, const StateDict& expected) {
  ASSERT_EQ(state.tensors().size(), expected.tensors().size());
  for (size_t i = 0; i < state.tensors().size(); ++i) {
    EXPECT_TRUE(bytes_of(state.tensors()[i].tensor) == bytes_of(expected.tensors()[i].tensor))
        << state.tensors()[i].name;
  }
}

// A checkpoint directory and the tensors of a rank in it.
struct NumberedRun {
  NumberedRun(const ShardedRank& of, const std::string& folder)
      : rank(of), own(shared(part(0))), checkpoint(of.open(folder, own)) {}

  StateDict part(int64_t number) const { return numbered_part(rank.device(), number, rank.rank(), rank.size()); }
  // The step is the number of the state in it.
  void save(int64_t step) const {
    own->state = part(step);
    checkpoint->save(step);
  }
  // Loads the newest checkpoint, whatever its ranks were. Returns its step.
  int64_t load() const {
    own->state = part(0);
    const int64_t step = checkpoint->load();
    expect_same_tensors(own->state, part(std::max<int64_t>(step, 0)));
    return step;
  }

  const ShardedRank& rank;
  Ref<SharedStateDict> own;
  Ref<Checkpoint> checkpoint;
};

// Returns when all ranks have come here.
inline void meet(const ShardedRank& rank) {
  agree_on(*rank.group, [] { return Numbers{}; });
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace halftone::resume
