// Batches of messages that cross, for the tests of every kind of group.
#pragma once

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "host_tensor.h"
#include "ranks.h"

namespace halftone {

// Every rank exchanges `messages` messages with every other rank in one batch, in an order of its own.
class CrossingBatch {
 public:
  CrossingBatch(ProcessGroup& group, int64_t count, int messages, uint32_t order) : group_(group) {
    for (int peer = 0; peer < group.size(); ++peer) {
      for (int i = 0; i < messages && peer != group.rank(); ++i) {
        add(Operation::kSend, peer, i, count);
        add(Operation::kReceive, peer, i, count);
      }
    }
    reorder(order);
  }

  Status run() {
    return result_of([&](Work** work) { return group_.batch({}, transfers_.data(), count(), work); });
  }
  bool has_all() const {
    return std::all_of(expected_.begin(), expected_.end(), [](const Expected& each) {
      for (int64_t i = 0; i < each.tensor->numel(); ++i) {
        if (each.tensor->get(i) != value(each.from, each.to, each.index, i)) return false;
      }
      return each.tensor->guards_hold();
    });
  }
  int32_t count() const { return static_cast<int32_t>(transfers_.size()); }

 private:
  struct Expected {
    const HostTensor* tensor;
    int from, to, index;
  };

  static double value(int from, int to, int index, int64_t i) {
    return 1000 * from + 100 * to + 10 * index + static_cast<double>(i % 7);
  }

  void add(Operation direction, int peer, int index, int64_t count) {
    HostTensor& tensor = tensors_.emplace_back(DType::kF32, Shape{count});
    const int own = group_.rank();
    if (direction == Operation::kReceive) expected_.push_back({&tensor, peer, own, index});
    for (int64_t i = 0; i < count && direction == Operation::kSend; ++i) tensor.set(i, value(own, peer, index, i));
    transfers_.push_back({.direction = direction, .peer = peer, .data = tensor.view()});
  }

  // Messages of one peer and direction keep their order. Order 0: sends first; 1: receives first.
  void reorder(uint32_t order) {
    std::mt19937 generator(order * 100 + static_cast<uint32_t>(group_.rank()));
    std::vector<std::pair<uint32_t, size_t>> keys;
    std::vector<uint32_t> key_of_lane(2 * static_cast<size_t>(group_.size()));
    for (uint32_t& key : key_of_lane) key = generator();
    for (size_t i = 0; i < transfers_.size(); ++i) {
      const bool receives = transfers_[i].direction == Operation::kReceive;
      const size_t lane = 2 * static_cast<size_t>(transfers_[i].peer) + (receives ? 1 : 0);
      keys.emplace_back(order == 0 ? receives : order == 1 ? !receives : key_of_lane[lane], i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<Transfer> sorted;
    for (const auto& key : keys) sorted.push_back(transfers_[key.second]);
    transfers_ = std::move(sorted);
  }

  ProcessGroup& group_;
  std::deque<HostTensor> tensors_;
  std::vector<Expected> expected_;
  std::vector<Transfer> transfers_;
};

// Batches of small and large messages, of few and many, in several orders.
inline void expect_crossing_batches(ProcessGroup& group, const std::vector<int64_t>& counts) {
  for (const int64_t count : counts) {
    for (const int messages : {1, 3, 9}) {
      for (uint32_t order = 0; order < 4; ++order) {
        CrossingBatch batch(group, count, messages, order);
        const Status status = batch.run();
        EXPECT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(batch.has_all()) << messages << " messages of " << count << " in order " << order;
      }
    }
  }
  EXPECT_TRUE(barrier_of(group).ok());
}

// Runs a batch that is written as a list, and waits for it.
inline Status run_batch(ProcessGroup& group, const std::vector<Transfer>& transfers) {
  return result_of(
      [&](Work** work) { return group.batch({}, transfers.data(), static_cast<int32_t>(transfers.size()), work); });
}

inline Transfer send_to(int peer, const HostTensor& data) {
  return {.direction = Operation::kSend, .peer = peer, .data = data.view()};
}
inline Transfer receive_from(int peer, const HostTensor& data) {
  return {.direction = Operation::kReceive, .peer = peer, .data = data.view()};
}

// Rank 1 is ready for its messages to rank 0 when rank 2 is done with its own, which wait for rank 0: the batch of rank
// 0 must not wait for one peer before it serves the other. The group has three ranks.
inline void expect_that_peers_do_not_wait_for_each_other(ProcessGroup& group) {
  const HostTensor a(DType::kF32, {9000}), b(DType::kF32, {9000}), c(DType::kF32, {9000}), d(DType::kF32, {9000});
  const HostTensor sign(DType::kU8, {1});
  std::vector<std::vector<Transfer>> batches = {{send_to(0, a), send_to(0, b)}};
  if (group.rank() == 0) {
    batches = {{receive_from(1, a), receive_from(1, b), receive_from(2, c), receive_from(2, d)}};
  } else if (group.rank() == 1) {
    batches.insert(batches.begin(), {receive_from(2, sign)});
  } else {
    batches.push_back({send_to(1, sign)});
  }
  for (const std::vector<Transfer>& batch : batches) EXPECT_TRUE(run_batch(group, batch).ok());
}

// Ranks 1 to 3 exchange messages while rank 0, which calls nothing, leaves.
inline void expect_that_others_do_not_need_a_rank_that_left(ProcessGroup& group) {
  const HostTensor a(DType::kU8, {1}), b(DType::kU8, {1});
  for (int round = 0; round < 200; ++round) {
    const std::vector<Transfer> batch =
        group.rank() == 1 ? std::vector{receive_from(2, a), receive_from(3, b)} : std::vector{send_to(1, a)};
    const Status status = run_batch(group, batch);
    ASSERT_TRUE(status.ok()) << status.message;
    const std::vector<Transfer> reply =
        group.rank() == 1 ? std::vector{send_to(2, a), send_to(3, b)} : std::vector{receive_from(1, a)};
    ASSERT_TRUE(run_batch(group, reply).ok());
  }
}

// Rank 0 has one batch for what rank 1 does in three calls. The group has two ranks.
inline void expect_that_cuts_may_differ(ProcessGroup& group) {
  std::deque<HostTensor> tensors;
  for (int i = 0; i < 8; ++i) tensors.emplace_back(DType::kF32, Shape{5000}).set(0, group.rank() == 0 ? i : -1);
  std::vector<Transfer> transfers;
  if (group.rank() == 0) {
    for (int i = 0; i < 7; ++i) transfers.push_back(send_to(1, tensors[static_cast<size_t>(i)]));
    transfers.push_back(receive_from(1, tensors[7]));
    EXPECT_TRUE(run_batch(group, transfers).ok());
    return;
  }
  for (int i = 0; i < 5; ++i) transfers.push_back(receive_from(0, tensors[static_cast<size_t>(i)]));
  EXPECT_TRUE(run_batch(group, transfers).ok());
  EXPECT_TRUE(run_batch(group, {receive_from(0, tensors[5])}).ok());
  EXPECT_TRUE(run_batch(group, {receive_from(0, tensors[6]), send_to(0, tensors[7])}).ok());
  for (int i = 0; i < 7; ++i) EXPECT_EQ(tensors[static_cast<size_t>(i)].get(0), i);
}

}  // namespace halftone
