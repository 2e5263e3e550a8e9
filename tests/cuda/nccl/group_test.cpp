// Groups over NCCL with operands in device memory: order by streams, and failures that only NCCL has.
#include "comm/group/group.h"

#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <cmath>

#include "backend/kernels/kernels.h"
#include "comm/group/shared_store.h"
#include "device_ranks.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

constexpr int64_t kShort = 1000 * kMillisecond;  // a busy machine creates a group in it
constexpr std::chrono::seconds kBound{20};

Tensor tensor_of(Rank& rank, DType dtype, const std::vector<float>& values) {
  const Tensor made = from_host(rank.device(), DType::kF32, {static_cast<int64_t>(values.size())}, values.data());
  return converted(made, dtype, Category::kOther);
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.numel()));
  read_to_host(tensor, DType::kF32, values.data());
  return values;
}

CallOptions after_work(Rank& rank, bool is_deterministic = false) {
  return {.stream = &rank.device().device->stream(), .is_deterministic = is_deterministic ? 1 : 0};
}

Status all_reduce(Rank& rank, const Tensor& data, bool is_deterministic = false) {
  return result_of([&](Work** work) {
    return rank.group->all_reduce(after_work(rank, is_deterministic), ReduceOp::kSum, data.view(), data.view(), work);
  });
}

class NcclGroups : public testing::Test {
 protected:
  void TearDown() override {
    if (!is_emulated()) return;
    nccl_function<void(int32_t)>("nccl_emulation_hang")(0);
    nccl_function<void(int32_t)>("nccl_emulation_lose")(-1);
  }
  // As many ranks as there are GPUs.
  static int ranks(int wanted) { return std::min(wanted, device_count()); }
  void need_emulation() {
    if (!is_emulated()) GTEST_SKIP() << "skipped: NCCL on a GPU does not fail on demand";
  }
};

TEST_F(NcclGroups, OneRankHasAGroupWithoutAStore) {
  Rank rank{.context = make_gpu_context(), .group = nullptr, .place = "cuda:0"};
  rank.group = make_gpu_group(*rank.context, nullptr, 0, 1);
  EXPECT_STREQ(rank.group->kind(), "nccl");
  for (const bool is_deterministic : {false, true}) {
    const Tensor data = tensor_of(rank, DType::kBF16, {1, 2, 3});
    const Status status = all_reduce(rank, data, is_deterministic);
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(values_of(data), (std::vector<float>{1, 2, 3}));
  }
  EXPECT_TRUE(barrier_of(*rank.group).ok());
}

// Nothing but the tensors' first and last transfer waits: the stream waits for the operation, and the caller does not.
TEST_F(NcclGroups, StreamsWaitAndTheCallerDoesNot) {
  const int size = ranks(3);
  std::barrier<> together(size);
  run_gpu_ranks(size, [&](Rank& rank) {
    Stream& stream = rank.device().device->stream();
    const Tensor data = tensor_of(rank, DType::kF32, {1, 2});
    const Tensor other = tensor_of(rank, DType::kF32, {0, 0});
    together.arrive_and_wait();
    const int64_t before = cuda_waits();
    together.arrive_and_wait();
    for (int round = 0; round < 5; ++round) {
      copy(data, other);  // on the caller's stream, before the operation
      Work* started = nullptr;
      ASSERT_TRUE(rank.group->all_reduce(after_work(rank), ReduceOp::kSum, other.view(), other.view(), &started).ok());
      const OwnedWork work(started);
      EXPECT_TRUE(work->wait_on(stream).ok());
      copy(other, data);  // and behind it
    }
    together.arrive_and_wait();
    EXPECT_EQ(cuda_waits(), before);
    together.arrive_and_wait();
    const float factor = static_cast<float>(std::pow(size, 5));
    EXPECT_EQ(values_of(data), (std::vector<float>{factor, 2 * factor}));
  });
}

// 2048 + 1 is 2048 in FP16.
TEST_F(NcclGroups, DeterministicSumsRoundOnce) {
  const int size = ranks(4);
  run_gpu_ranks(size, [&](Rank& rank) {
    const auto sum = [&](bool is_deterministic) {
      const Tensor data = tensor_of(rank, DType::kF16, {rank.number() == 0 ? 2048.0f : 1.0f});
      EXPECT_TRUE(all_reduce(rank, data, is_deterministic).ok());
      return values_of(data)[0];
    };
    if (size == 4) {
      EXPECT_EQ(sum(true), 2052.0f);  // 2051 is a tie between 2050 and 2052
    }
    if (is_emulated()) {
      EXPECT_EQ(sum(false), 2051.0f + 1.0f) << "from the last rank on: 3 + 2048";
    }
  });
}

// Numbers that cancel show every other order. More than one range of the memory that ranks exchange.
TEST_F(NcclGroups, LargeDeterministicSumsAreBitwiseThoseOfTheTree) {
  const int size = ranks(3);
  constexpr int64_t kCount = (int64_t{4} << 20) + 5;
  const auto value = [](int rank, int64_t i) {
    return std::sin(static_cast<double>(i % 1000)) * (rank == 1 ? -1e7 : 1e7 + rank);
  };
  run_gpu_ranks(size, [&](Rank& rank) {
    std::vector<double> own(kCount);
    for (int64_t i = 0; i < kCount; ++i) own[static_cast<size_t>(i)] = value(rank.number(), i);
    const Tensor data = from_host(rank.device(), DType::kF64, {kCount}, own.data());
    EXPECT_TRUE(all_reduce(rank, data, true).ok());
    std::vector<double> sums(kCount);
    read_to_host(data, DType::kF64, sums.data());
    size_t wrong = 0;
    for (int64_t i = 0; i < kCount && size == 3; ++i) {
      const double left = value(0, i) + value(1, i);
      wrong += sums[static_cast<size_t>(i)] != left + value(2, i);
    }
    EXPECT_EQ(wrong, 0u);
  });
}

TEST_F(NcclGroups, CallsThatAreInProgressAreAskedAgain) {
  need_emulation();
  const auto under_way = nccl_function<int64_t()>("nccl_emulation_under_way");
  const int64_t before = under_way();
  run_gpu_ranks(2, [&](Rank& rank) {
    EXPECT_GE(under_way(), before + 2) << "the ranks' connection does not block";
    const Tensor data = tensor_of(rank, DType::kF32, {1});
    EXPECT_TRUE(all_reduce(rank, data).ok());
    EXPECT_EQ(values_of(data)[0], 2.0f);
  });
  EXPECT_GE(under_way(), before + 8) << "nor do the first operations";
}

TEST_F(NcclGroups, RanksSendAndReceive) {
  if (device_count() < 2) GTEST_SKIP() << "skipped: there is one GPU";
  run_gpu_ranks(2, [&](Rank& rank) {
    const int peer = 1 - rank.number();
    for (int round = 0; round < 3; ++round) {
      const Tensor data = tensor_of(rank, DType::kF32, {static_cast<float>(rank.number() + 10 * round)});
      const auto move = [&](bool sends) {
        return result_of([&](Work** work) {
          return sends ? rank.group->send(after_work(rank), peer, data.view(), work)
                       : rank.group->receive(after_work(rank), peer, data.view(), work);
        });
      };
      EXPECT_TRUE(move(rank.number() == 0).ok());
      EXPECT_EQ(values_of(data)[0], static_cast<float>(10 * round));
    }
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

TEST_F(NcclGroups, RanksExchangeInOneBatch) {
  const int size = ranks(4);
  if (size < 2) GTEST_SKIP() << "skipped: there is one GPU";
  run_gpu_ranks(size, [&](Rank& rank) {
    const int next = (rank.number() + 1) % size, previous = (rank.number() + size - 1) % size;
    for (int round = 0; round < 3; ++round) {
      const Tensor own = tensor_of(rank, DType::kF32, {static_cast<float>(rank.number() + 10 * round), 7});
      const Tensor other = tensor_of(rank, DType::kF32, {-1, -1});
      const Transfer transfers[] = {{.direction = Operation::kReceive, .peer = previous, .data = other.view()},
                                    {.direction = Operation::kSend, .peer = next, .data = own.view()}};
      EXPECT_TRUE(result_of([&](Work** work) { return rank.group->batch(after_work(rank), transfers, 2, work); }).ok());
      EXPECT_EQ(values_of(other), (std::vector<float>{static_cast<float>(previous + 10 * round), 7}));
    }
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

// The ranks wait in a batch for a rank that is lost in it.
TEST_F(NcclGroups, D20_ARankThatIsLostInABatchIsAnErrorOfTheOthers) {
  need_emulation();
  std::barrier<> together(3);
  run_gpu_ranks(3, [&](Rank& rank) {
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    together.arrive_and_wait();
    nccl_function<void(int32_t)>("nccl_emulation_lose")(1);
    std::vector<Transfer> transfers;
    std::vector<Tensor> memory;
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == rank.number()) continue;
      for (const Operation direction : {Operation::kSend, Operation::kReceive}) {
        memory.push_back(tensor_of(rank, DType::kF32, {1}));
        transfers.push_back({.direction = direction, .peer = peer, .data = memory.back().view()});
      }
    }
    const Status status =
        result_of([&](Work** work) { return rank.group->batch(after_work(rank), transfers.data(), 4, work); });
    EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
    together.arrive_and_wait();
  });
}

TEST_F(NcclGroups, D20_ABatchThatHangsIsATimeoutThatNamesItsMessages) {
  need_emulation();
  const OwnedStore store = create_memory_store();
  std::barrier<> together(2);
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&, number] {
      Rank rank{.context = make_gpu_context(), .group = nullptr, .place = "cuda:" + std::to_string(number)};
      rank.group = make_gpu_group(*rank.context, store.get(), number, 2, kShort);
      EXPECT_TRUE(barrier_of(*rank.group).ok());
      together.arrive_and_wait();
      nccl_function<void(int32_t)>("nccl_emulation_hang")(1);
      const Tensor own = tensor_of(rank, DType::kF32, {1}), other = tensor_of(rank, DType::kF32, {1});
      const Transfer transfers[] = {{.direction = Operation::kSend, .peer = 1 - number, .data = own.view()},
                                    {.direction = Operation::kReceive, .peer = 1 - number, .data = other.view()}};
      const Status status =
          result_of([&](Work** work) { return rank.group->batch(after_work(rank), transfers, 2, work); });
      EXPECT_EQ(status.code, Code::kTimeout) << status.message;
      EXPECT_TRUE(says(status, "in batch of 2 messages: send of 1 f32 to rank ")) << status.message;
      EXPECT_TRUE(says(status, ", receive of 1 f32 from rank ")) << status.message;
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NcclGroups, CountersAndRecordsTellOfOperations) {
  const int size = ranks(2);
  run_gpu_ranks(size, [&](Rank& rank) {
    const Tensor data = tensor_of(rank, DType::kF32, std::vector<float>(100));
    EXPECT_TRUE(all_reduce(rank, data).ok());
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    const GroupCounters counters = rank.group->counters();
    EXPECT_EQ(counters.operations, 2);
    EXPECT_EQ(counters.bytes_sent, 400 * 2 * (size - 1) / size);
    EXPECT_EQ(counters.bytes_received, counters.bytes_sent);
    char text[1024];
    rank.group->describe_operations(text, sizeof text);
    EXPECT_NE(std::string(text).find("all_reduce of 100 f32 with sum: done"), std::string::npos) << text;
  });
}

TEST_F(NcclGroups, SplitMakesGroupsOfSomeRanks) {
  need_emulation();
  const Ref<SharedStore> store = make_ref<SharedStore>(create_memory_store());
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      const Ref<Context> context = make_gpu_context();
      const Ref<Group> whole =
          make_ref<Group>("nccl", gpu(*context, number), store, GroupOptions{.rank = number, .size = 4});
      const Ref<Group> half = whole->split(number % 2, number);
      EXPECT_EQ(half->process_group().size(), 2);
      EXPECT_EQ(half->process_group().rank(), number / 2);
      EXPECT_TRUE(barrier_of(half->process_group()).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NcclGroups, D20_ARankThatHangsIsATimeoutAndTheRanksFormAnotherGroup) {
  need_emulation();
  const OwnedStore store = create_memory_store();
  std::barrier<> together(2);
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&, number] {
      Rank rank{.context = make_gpu_context(), .group = nullptr, .place = "cuda:" + std::to_string(number)};
      rank.group = make_gpu_group(*rank.context, store.get(), number, 2, kShort, "first");
      const Tensor data = tensor_of(rank, DType::kF32, {1});
      EXPECT_TRUE(all_reduce(rank, data).ok());
      together.arrive_and_wait();
      nccl_function<void(int32_t)>("nccl_emulation_hang")(1);
      const auto begin = std::chrono::steady_clock::now();
      const Status status = all_reduce(rank, data);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, kBound);
      EXPECT_EQ(status.code, Code::kTimeout) << status.message;
      EXPECT_TRUE(says(status, "all_reduce of 1 f32 with sum (operation 2) until the deadline")) << status.message;
      EXPECT_EQ(barrier_of(*rank.group).code, Code::kTimeout) << "the failure lasts";
      together.arrive_and_wait();
      nccl_function<void(int32_t)>("nccl_emulation_hang")(0);
      rank.group = make_gpu_group(*rank.context, store.get(), number, 2, kDefaultGroupTimeoutNs, "second");
      const Tensor again = tensor_of(rank, DType::kF32, {3});
      EXPECT_TRUE(all_reduce(rank, again).ok());
      EXPECT_EQ(values_of(again)[0], 6.0f);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NcclGroups, D20_ALostRankIsAnErrorOfTheOthers) {
  need_emulation();
  std::barrier<> together(3);
  run_gpu_ranks(3, [&](Rank& rank) {
    const Tensor data = tensor_of(rank, DType::kF32, {1});
    EXPECT_TRUE(all_reduce(rank, data).ok());
    together.arrive_and_wait();
    nccl_function<void(int32_t)>("nccl_emulation_lose")(1);
    const Status status = all_reduce(rank, data);
    EXPECT_EQ(status.code, Code::kPeerLost) << status.message;
    EXPECT_TRUE(says(status, "a rank is lost")) << status.message;
    EXPECT_EQ(values_of(tensor_of(rank, DType::kF32, {5}))[0], 5.0f) << "the device works on";
    together.arrive_and_wait();
  });
}

TEST_F(NcclGroups, TwoRanksOnOneGpuAreRefused) {
  need_emulation();
  const OwnedStore store = create_memory_store();
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&, number] {
      const Ref<Context> context = make_gpu_context();
      try {
        create_group("nccl", *context,
                     {.device = gpu(*context, 0).device, .store = store.get(), .rank = number, .size = 2});
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
        EXPECT_NE(std::string(error.what()).find("Duplicate GPU"), std::string::npos) << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NcclGroups, D20_ARankThatNeverComesIsATimeoutThatNamesIt) {
  const Ref<Context> context = make_gpu_context();
  const OwnedStore store = create_memory_store();
  try {
    make_gpu_group(*context, store.get(), 0, 2, kShort);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kTimeout);
    EXPECT_NE(std::string(error.what()).find("rank 1 did not come to the group"), std::string::npos) << error.what();
  }
  EXPECT_NE(make_gpu_group(*context, nullptr, 0, 1), nullptr) << "the device takes another group";
}

// The capture itself goes on: what it records before and after the refused call is in the graph.
TEST_F(NcclGroups, D20_AnOperationWhileAGraphIsCapturedIsRefused) {
  Rank rank{.context = make_gpu_context(), .group = nullptr, .place = "cuda:0"};
  rank.group = make_gpu_group(*rank.context, nullptr, 0, 1);
  Device& device = *rank.device().device;
  const Tensor data = tensor_of(rank, DType::kF32, {1});
  const auto fill = [&](double value) { return device.kernels().convert.fill(device.stream(), value, data.view()); };
  ASSERT_TRUE(device.stream().synchronize().ok());
  ASSERT_TRUE(device.begin_recording(device.stream()).ok());
  EXPECT_TRUE(fill(2).ok());
  const Status refused = all_reduce(rank, data);
  EXPECT_EQ(refused.code, Code::kUnsupported) << refused.message;
  EXPECT_TRUE(says(refused, "cannot be captured into a graph")) << refused.message;
  RecordedWork* graph = nullptr;
  ASSERT_TRUE(device.end_recording(device.stream(), &graph).ok());
  EXPECT_TRUE(all_reduce(rank, data).ok());
  EXPECT_EQ(values_of(data)[0], 1.0f) << "nothing of the graph has run";
  EXPECT_TRUE(graph->run(device.stream()).ok());
  EXPECT_EQ(values_of(data)[0], 2.0f);
  graph->destroy();
}

}  // namespace
}  // namespace halftone
