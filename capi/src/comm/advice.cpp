#include "halftone/advice.h"

#include "base/call.h"
#include "comm/collectives/algorithm.h"
#include "comm/group/group.h"
#include "comm/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

static_assert(static_cast<int32_t>(Operation::kAllReduce) + 1 == HTONE_COLLECTIVE_ALL_REDUCE);
static_assert(static_cast<int32_t>(Operation::kAllGather) + 1 == HTONE_COLLECTIVE_ALL_GATHER);
static_assert(static_cast<int32_t>(Operation::kReduceScatter) + 1 == HTONE_COLLECTIVE_REDUCE_SCATTER);
static_assert(static_cast<int32_t>(Operation::kBroadcast) + 1 == HTONE_COLLECTIVE_BROADCAST);
static_assert(static_cast<int32_t>(Operation::kAllToAll) + 1 == HTONE_COLLECTIVE_ALL_TO_ALL);
static_assert(static_cast<int32_t>(Operation::kBarrier) + 1 == HTONE_COLLECTIVE_BARRIER);
static_assert(static_cast<int32_t>(Algorithm::kDirect) + 1 == HTONE_ALGORITHM_DIRECT);
static_assert(static_cast<int32_t>(Algorithm::kTree) + 1 == HTONE_ALGORITHM_TREE);
static_assert(static_cast<int32_t>(Algorithm::kRing) + 1 == HTONE_ALGORITHM_RING);

constexpr double kNanoseconds = 1e9;  // of a second
// Of a message or a byte; more would make predictions infinite.
constexpr double kLongestCost = 1e9;

Operation checked_collective(htone_collective operation, ArgumentName argument) {
  if (operation >= HTONE_COLLECTIVE_ALL_REDUCE && operation <= HTONE_COLLECTIVE_BARRIER) {
    return static_cast<Operation>(operation - 1);
  }
  fail(Code::kInvalidArgument, argument.text(), "operation=%d is no htone_collective", operation);
}

Algorithm checked_algorithm(htone_algorithm algorithm, ArgumentName argument) {
  if (algorithm >= HTONE_ALGORITHM_DIRECT && algorithm <= HTONE_ALGORITHM_RING) {
    return static_cast<Algorithm>(algorithm - 1);
  }
  fail(Code::kInvalidArgument, argument.text(), "algorithm=%d is no htone_algorithm", algorithm);
}

int64_t checked_bytes(int64_t bytes, ArgumentName argument) { return at_least(bytes, 0, argument); }

void require_seconds(double seconds, const char* field) {
  if (seconds >= 0 && seconds <= kLongestCost) return;
  fail(Code::kInvalidArgument, "cost", "cost.%s=%g, expected 0 to %g", field, seconds, kLongestCost);
}

htone_link_cost checked_cost(const htone_link_cost* given, ArgumentName argument) {
  const auto cost = options_or_default(&require(given, argument), HTONE_LINK_COST_INIT, argument);
  if (cost.size < 1 || cost.size > kMaxGroupSize) {
    fail(Code::kInvalidArgument, "cost", "cost.size=%d, expected 1 to %d", cost.size, kMaxGroupSize);
  }
  require_seconds(cost.message_seconds, "message_seconds");
  require_seconds(cost.next_seconds, "next_seconds");
  require_seconds(cost.byte_seconds, "byte_seconds");
  return cost;
}

LinkCost measured_cost(const Group& group) {
  LinkCost cost;
  check(group.process_group().link_cost(&cost));
  return cost;
}

htone_link_cost shown_cost(const Group& group) {
  const LinkCost cost = measured_cost(group);
  return {.struct_size = sizeof(htone_link_cost),
          .size = group.process_group().size(),
          .message_seconds = cost.message_ns / kNanoseconds,
          .next_seconds = cost.next_ns / kNanoseconds,
          .byte_seconds = cost.byte_ns / kNanoseconds,
          .is_shared = cost.is_shared,
          .reserved = 0};
}

double predict_for_group(const Group& group, Operation operation, Algorithm algorithm, int64_t bytes) {
  const int32_t size = group.process_group().size();
  return predicted_ns(operation, algorithm, bytes, size, measured_cost(group)) / kNanoseconds;
}

htone_algorithm choose(const Group& group, Operation operation, int64_t bytes) {
  const Algorithm chosen = fastest(operation, bytes, group.process_group().size(), measured_cost(group));
  return static_cast<htone_algorithm>(static_cast<int32_t>(chosen) + 1);
}

double predict(const htone_link_cost& given, Operation operation, Algorithm algorithm, int64_t bytes) {
  const LinkCost cost{.message_ns = given.message_seconds * kNanoseconds,
                      .next_ns = given.next_seconds * kNanoseconds,
                      .byte_ns = given.byte_seconds * kNanoseconds,
                      .is_shared = given.is_shared};
  return predicted_ns(operation, algorithm, bytes, given.size, cost) / kNanoseconds;
}

}  // namespace

htone_status htone_group_read_link_cost(htone_group* group, htone_link_cost* out_cost) {
  return Call(shown_cost, group, structure(out_cost));
}

htone_status htone_group_predict(htone_group* group, htone_collective operation, htone_algorithm algorithm,
                                 int64_t bytes, double* out_seconds) {
  return Call(predict_for_group, group, as<checked_collective>(operation), as<checked_algorithm>(algorithm),
              as<checked_bytes>(bytes), out_seconds);
}

htone_status htone_group_algorithm(htone_group* group, htone_collective operation, int64_t bytes,
                                   htone_algorithm* out_algorithm) {
  return Call(choose, group, as<checked_collective>(operation), as<checked_bytes>(bytes), out_algorithm);
}

htone_status htone_comm_predict(const htone_link_cost* cost, htone_collective operation, htone_algorithm algorithm,
                                int64_t bytes, double* out_seconds) {
  return Call(predict, as<checked_cost>(cost), as<checked_collective>(operation), as<checked_algorithm>(algorithm),
              as<checked_bytes>(bytes), out_seconds);
}
