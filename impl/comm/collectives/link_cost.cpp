// Measures once for a group how long messages take, in the group's first operation: of several trials the fastest, and
// of all ranks the slowest, so that all choose alike. The messages carry the operation's call, and are not counted.
#include <algorithm>
#include <cstring>
#include <limits>

#include "comm/collectives/collectives.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kTrialBytes = 64 << 10;
constexpr int kTrials = 2;
// The first trials with data touch memory that is new.
constexpr int kDataTrials = 4;
constexpr int kMostRounds = 32;  // of a tree

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

}  // namespace

// Sends to the next rank and receives from the rank before, each time with a round of its own, which is negative.
Status Collectives::send_trial(const Call& call, const Trials& trials, int i) noexcept {
  const Message message{.header = {}, .data = table_.get(), .bytes = trials.bytes};
  return send_to(call, trials.round - i, rank_after(1), message);
}

Status Collectives::receive_trial(const Call& call, const Trials& trials, int i) noexcept {
  const Message target{.header = {}, .data = table_.get() + kTrialBytes, .bytes = trials.bytes};
  return receive_into(call, trials.round - i, rank_after(-1), target);
}

// Two messages one after another: the second costs less, because no rank waits for it.
Status Collectives::run_burst(const Call& call, Trials* trials) noexcept {
  Status status = drain_round(call);
  Clock::time_point times[5] = {Clock::now()};
  for (int i = 0; i < 2 && status.ok(); ++i) {
    status = send_trial(call, *trials, i);
    times[i + 1] = Clock::now();
  }
  for (int i = 0; i < 2 && status.ok(); ++i) {
    status = receive_trial(call, *trials, i);
    times[i + 3] = Clock::now();
  }
  trials->round -= 2;
  trials->best_ns = std::min(trials->best_ns, ns_between(times[0], times[4]));
  trials->next_ns = std::min(trials->next_ns, ns_between(times[1], times[2]) + ns_between(times[3], times[4]));
  return status;
}

// Two messages of which each waits for the one before.
Status Collectives::run_exchange(const Call& call, Trials* trials) noexcept {
  Status status = drain_round(call);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 2 && status.ok(); ++i) {
    status = send_trial(call, *trials, i);
    if (status.ok()) status = receive_trial(call, *trials, i);
  }
  trials->round -= 2;
  trials->best_ns = std::min(trials->best_ns, ns_between(start, Clock::now()) / 2);
  return status;
}

// Replaces the constants by the largest of all ranks, in the rounds of a tree. A message must not change while others
// read it, so each round has its own.
Status Collectives::agree_on_cost(const Call& call, int32_t round) noexcept {
  Status status = drain_round(call);
  LinkCost* const costs = reinterpret_cast<LinkCost*>(table_.get());
  LinkCost* const heard = costs + kMostRounds;
  costs[0] = cost_;
  int last = 0;
  for (int distance = 1; distance < size_ && status.ok(); distance *= 2, --round, ++last) {
    status =
        send_to(call, round, rank_after(distance), {.header = {}, .data = costs + last, .bytes = sizeof(LinkCost)});
    if (!status.ok()) return status;
    status = receive_into(call, round, rank_after(-distance), {.header = {}, .data = heard, .bytes = sizeof(LinkCost)});
    costs[last + 1] = {.message_ns = std::max(costs[last].message_ns, heard->message_ns),
                       .next_ns = std::max(costs[last].next_ns, heard->next_ns),
                       .byte_ns = std::max(costs[last].byte_ns, heard->byte_ns),
                       .is_shared = cost_.is_shared};
  }
  cost_ = costs[last];
  return status;
}

// The first burst warms up: a thread or a connection may be new. The wait for a first message varies by more than its
// bytes take, so the second message tells their cost, too.
Status Collectives::measure(const Call& call) noexcept {
  Status status = reserve(2 * kTrialBytes);
  if (!status.ok()) return status;
  std::memset(table_.get(), 0, 2 * kTrialBytes);
  Trials bursts{.bytes = 0, .round = kFirstTrial};
  for (int i = 0; i < kTrials && status.ok(); ++i) status = run_burst(call, &bursts);
  Trials exchanges{.bytes = 0, .round = bursts.round};
  for (int i = 0; i < kTrials && status.ok(); ++i) status = run_exchange(call, &exchanges);
  Trials data{.bytes = kTrialBytes, .round = exchanges.round};
  for (int i = 0; i < kDataTrials && status.ok(); ++i) status = run_burst(call, &data);
  const double of_both = (data.best_ns - bursts.best_ns) / (2 * kTrialBytes);
  const double of_second = (data.next_ns - bursts.next_ns) / kTrialBytes;
  cost_ = {.message_ns = exchanges.best_ns,
           .next_ns = std::min(bursts.next_ns, exchanges.best_ns),
           .byte_ns = std::max({0.0, of_both, of_second}),
           .is_shared = transport_.shares_memory() ? 1 : 0};
  if (status.ok()) status = agree_on_cost(call, data.round);
  return status.ok() ? drain_round(call) : status;
}

// One rank has no message to measure.
Status Collectives::measure_once(const Call& call) noexcept {
  if (has_cost_.load(std::memory_order_relaxed)) return {};
  Status status;
  traffic_.pause();
  if (size_ > 1) status = measure(call);
  traffic_.resume();
  if (status.ok()) has_cost_.store(true, std::memory_order_release);
  return status;
}

Status Collectives::link_cost(LinkCost* out) const noexcept {
  if (!has_cost_.load(std::memory_order_acquire)) {
    return Status::failure(Code::kState, "the group measures its messages in its first operation, such as a barrier");
  }
  *out = cost_;
  return {};
}

}  // namespace halftone
