// Messages between two ranks, the counters of a group, and its record of operations.
#include <latch>
#include <string>

#include "comm/collectives/flight_recorder.h"
#include "host_tensor.h"
#include "ranks.h"

namespace halftone {
namespace {

Status send(Rank& rank, int peer, const HostTensor& data) {
  return result_of([&](Work** work) { return rank.group->send({}, peer, data.view(), work); });
}

Status receive(Rank& rank, int peer, const HostTensor& data) {
  return result_of([&](Work** work) { return rank.group->receive({}, peer, data.view(), work); });
}

HostTensor numbers(DType dtype, int64_t count, double first) {
  HostTensor tensor(dtype, {count});
  for (int64_t i = 0; i < count; ++i) tensor.set(i, first + static_cast<double>(i % 50));
  return tensor;
}

TEST(Messages, ARingPassesEveryRanksDataOn) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI64, DType::kU8}) {
    for (const int64_t count : {0, 1, 1001}) {
      run_ranks(4, [&](Rank& rank) {
        const int next = (rank.number() + 1) % 4;
        const int previous = (rank.number() + 3) % 4;
        const HostTensor own = numbers(dtype, count, rank.number() * 10);
        const HostTensor other(dtype, {count});
        EXPECT_TRUE(send(rank, next, own).ok()) << "every rank sends before any receives";
        EXPECT_TRUE(receive(rank, previous, other).ok());
        EXPECT_TRUE(other.bytes() == numbers(dtype, count, previous * 10).bytes());
      });
    }
  }
}

TEST(Messages, ArriveInOrderBetweenOperationsOfAllRanks) {
  constexpr int kMessages = 9;  // more than may be in flight
  run_ranks(3, [&](Rank& rank) {
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < kMessages; ++i) {
        if (rank.number() == 0) {
          HostTensor data = numbers(DType::kF64, 3, round * 100 + i);
          EXPECT_TRUE(send(rank, 1, data).ok());
          data.fill_uniform(-1, 1, 1);  // the message has left
        } else if (rank.number() == 1) {
          const HostTensor data(DType::kF64, {3});
          EXPECT_TRUE(receive(rank, 0, data).ok());
          EXPECT_EQ(data.get(0), round * 100 + i);
        }
      }
      EXPECT_TRUE(barrier_of(*rank.group).ok());
    }
  });
}

TEST(Messages, ALastMessageArrivesAlthoughTheSenderHasLeft) {
  run_ranks(2, [](Rank& rank) {
    const HostTensor data = numbers(DType::kF32, 100, rank.number() == 0 ? 5 : 0);
    if (rank.number() == 0) {
      EXPECT_TRUE(send(rank, 1, data).ok());
      return;  // its group goes
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(receive(rank, 0, data).ok());
    EXPECT_EQ(data.get(0), 5);
  });
}

TEST(Messages, OfAnotherSizeAreAnErrorOnBothRanks) {
  run_ranks(2, [](Rank& rank) {
    const HostTensor data(DType::kF32, {rank.number() == 0 ? 4 : 5});
    if (rank.number() == 0) static_cast<void>(send(rank, 1, data));  // may have left before the receiver looks
    const Status status = rank.number() == 0 ? barrier_of(*rank.group) : receive(rank, 0, data);
    EXPECT_EQ(status.code, Code::kComm) << status.message;
    EXPECT_TRUE(says(status, "send of 4 f32 to rank 1 (message 1)")) << status.message;
    EXPECT_TRUE(says(status, "receive of 5 f32 to rank 1 (message 1)")) << status.message;
  });
}

TEST(Messages, AnOperationOfAllRanksIsNoReceive) {
  run_ranks(2, [](Rank& rank) {
    const HostTensor data(DType::kF32, {4});
    if (rank.number() == 0) static_cast<void>(send(rank, 1, data));
    const Status status = barrier_of(*rank.group);
    EXPECT_EQ(status.code, Code::kComm) << status.message;
    EXPECT_TRUE(says(status, "send of 4 f32 to rank 1")) << status.message;
  });
}

TEST(Messages, ThatNobodySendsAreATimeout) {
  std::latch ended(1);  // a rank that leaves before is lost
  run_ranks(
      2,
      [&](Rank& rank) {
        if (rank.number() == 0) {
          const HostTensor data(DType::kF32, {4});
          const Status status = receive(rank, 1, data);
          EXPECT_EQ(status.code, Code::kTimeout) << status.message;
          EXPECT_TRUE(says(status, "rank 0 waited for rank 1 in receive of 4 f32")) << status.message;
          ended.count_down();
        } else {
          ended.wait();
        }
      },
      100 * kMillisecond);
}

TEST(Messages, ToNobodyAreRefused) {
  run_ranks(2, [](Rank& rank) {
    const HostTensor data(DType::kF32, {4});
    for (const int peer : {-1, 2, rank.number()}) {
      EXPECT_EQ(send(rank, peer, data).code, Code::kInvalidArgument);
      EXPECT_EQ(receive(rank, peer, data).code, Code::kInvalidArgument);
    }
    EXPECT_TRUE(barrier_of(*rank.group).ok()) << "a refused call is no failure of the group";
  });
}

Status sum(ProcessGroup& group, std::vector<uint8_t>& values) {
  const View view{
      .data = values.data(), .dtype = DType::kU8, .shape = {static_cast<int64_t>(values.size())}, .strides = {1}};
  return result_of([&](Work** work) { return group.all_reduce({}, ReduceOp::kSum, view, view, work); });
}

// 2 (n-1)/n of the data each way, as of the best algorithms. The measurement of the group's messages does not count.
TEST(GroupCounters, CountTheBytesOfALargeAllReduce) {
  constexpr int64_t kBytes = 1'200'000;
  for (const int size : {2, 3, 4}) {
    run_ranks(size, [&](Rank& rank) {
      std::vector<uint8_t> values(kBytes);
      EXPECT_TRUE(sum(*rank.group, values).ok());
      const GroupCounters counters = rank.group->counters();
      EXPECT_EQ(counters.operations, 1);
      EXPECT_EQ(counters.messages_sent, 2 * (size - 1));
      EXPECT_EQ(counters.bytes_sent, 2 * kBytes * (size - 1) / size);
      EXPECT_EQ(counters.bytes_received, 2 * kBytes * (size - 1) / size);
    });
  }
}

// One message takes less time than two, however much a message costs.
TEST(GroupCounters, CountTheOneMessageOfASmallAllReduce) {
  run_ranks(2, [&](Rank& rank) {
    std::vector<uint8_t> values(2);
    EXPECT_TRUE(sum(*rank.group, values).ok());
    const GroupCounters counters = rank.group->counters();
    EXPECT_EQ(counters.messages_sent, 1);
    EXPECT_EQ(counters.bytes_sent, 2);
    EXPECT_EQ(counters.bytes_received, 2);
  });
}

std::string record_of(ProcessGroup& group) {
  std::string text(group.describe_operations(nullptr, 0), '\0');
  group.describe_operations(text.data(), text.size() + 1);
  return text;
}

TEST(FlightRecorder, TellsTheLastOperationsWithTheirCalls) {
  run_ranks(2, [](Rank& rank) {
    EXPECT_EQ(record_of(*rank.group), "");
    const HostTensor data(DType::kF32, {4});
    EXPECT_TRUE(barrier_of(*rank.group).ok());
    EXPECT_TRUE(result_of([&](Work** work) { return rank.group->broadcast({}, 1, data.view(), work); }).ok());
    rank.group->abort("a test");
    EXPECT_FALSE(barrier_of(*rank.group).ok());
    const std::string record = record_of(*rank.group);
    EXPECT_NE(record.find(": barrier: done after "), std::string::npos) << record;
    EXPECT_NE(record.find("\n2 at "), std::string::npos) << record;
    EXPECT_NE(record.find(": broadcast of 4 f32 from rank 1: done after "), std::string::npos) << record;
    EXPECT_NE(record.find(": barrier: failed after "), std::string::npos) << record;
    EXPECT_NE(record.find("aborted the group: a test"), std::string::npos) << record;
  });
}

TEST(FlightRecorder, KeepsTheLastSixtyFour) {
  FlightRecorder recorder;
  for (int i = 0; i < 100; ++i) {
    const uint64_t number = recorder.record_call({});
    if (i < 98) recorder.record_start(number);
    if (i < 97) recorder.record_end(number, {});
  }
  std::string text(recorder.describe(nullptr, 0) + 64, '\0');  // an operation that runs may need more digits now
  text.resize(recorder.describe(text.data(), text.size()));
  EXPECT_EQ(text.substr(0, 6), "37 at ");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 64);
  EXPECT_NE(text.find("barrier: running for "), std::string::npos) << text;
  EXPECT_NE(text.find("barrier: waiting\n"), std::string::npos) << text;
  char cut[10];
  recorder.describe(cut, sizeof cut);
  EXPECT_EQ(std::string(cut), text.substr(0, 9));
}

}  // namespace
}  // namespace halftone
