#include "comm/collectives/algorithm.h"

#include <bit>
#include <limits>

// With n ranks, others = n - 1, and doublings = the logarithm of n to the base 2, rounded up:
//   direct  one round with a message to each other rank: of the operand, or of a part of 1/n of it. all_reduce has two.
//           Over shared memory all ranks read a root's message at the same time.
//   tree    a round with one message for each doubling; gathered operands double from round to round, so that a rank
//           receives n - 1 of them. broadcast compares the calls in such rounds of empty messages, and sends the
//           operand down a tree.
//   ring    a round for each of the others, with one message to the next rank. broadcast compares the calls as the tree
//           does, gives each rank a part in one round, and passes the parts around.
namespace halftone {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Exchange {
  double rounds;
  double messages;  // sent by one rank, in all rounds
  double operands;  // sent by one rank, as a multiple of its operand
};

constexpr Exchange kNone = {.rounds = kNever, .messages = kNever, .operands = 0};

Exchange direct(Operation operation, double size, bool is_shared) {
  const double others = size - 1;
  switch (operation) {
    case Operation::kAllReduce:
      return {.rounds = 2, .messages = 2 * others, .operands = 2 * others / size};
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return {.rounds = 1, .messages = others, .operands = others / size};
    case Operation::kAllGather:
      return {.rounds = 1, .messages = others, .operands = others};
    case Operation::kBroadcast:
      return {.rounds = 1, .messages = others, .operands = is_shared && others > 1 ? 1 : others};
    case Operation::kBarrier:
      return {.rounds = 1, .messages = others, .operands = 0};
    default:
      return kNone;
  }
}

Exchange tree(Operation operation, int64_t bytes, int32_t size) {
  const double doublings = std::bit_width(static_cast<uint32_t>(size - 1));
  const bool fits = bytes <= kLargestTreeBytes / size;
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kAllGather:
      return fits ? Exchange{.rounds = doublings, .messages = doublings, .operands = static_cast<double>(size - 1)}
                  : kNone;
    case Operation::kBroadcast:
      return {.rounds = 2 * doublings, .messages = 2 * doublings, .operands = doublings};
    case Operation::kBarrier:
      return {.rounds = doublings, .messages = doublings, .operands = 0};
    default:
      return kNone;
  }
}

Exchange ring(Operation operation, int32_t size) {
  const double doublings = std::bit_width(static_cast<uint32_t>(size - 1));
  const double others = size - 1;
  if (operation == Operation::kAllGather) return {.rounds = others, .messages = others, .operands = others};
  if (operation != Operation::kBroadcast) return kNone;
  return {.rounds = doublings + 1 + others, .messages = doublings + 2 * others, .operands = 2 * others / size};
}

Exchange exchange_of(Operation operation, Algorithm algorithm, int64_t bytes, int32_t size, bool is_shared) {
  switch (algorithm) {
    case Algorithm::kDirect:
      return direct(operation, size, is_shared);
    case Algorithm::kTree:
      return tree(operation, bytes, size);
    case Algorithm::kRing:
      return ring(operation, size);
  }
  return kNone;
}

}  // namespace

// An operation without such an algorithm is tested first: infinity times a cost of 0 is a NaN.
double predicted_ns(Operation operation, Algorithm algorithm, int64_t bytes, int32_t size,
                    const LinkCost& cost) noexcept {
  const Exchange exchange = exchange_of(operation, algorithm, bytes, size, cost.is_shared != 0);
  if (exchange.rounds == kNever) return kNever;
  if (size == 1) return 0;
  const double further = exchange.messages - exchange.rounds;
  return exchange.rounds * cost.message_ns + further * cost.next_ns +
         exchange.operands * static_cast<double>(bytes) * cost.byte_ns;
}

Algorithm fastest(Operation operation, int64_t bytes, int32_t size, const LinkCost& cost) noexcept {
  Algorithm best = Algorithm::kDirect;
  double best_ns = predicted_ns(operation, best, bytes, size, cost);
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing}) {
    const double ns = predicted_ns(operation, algorithm, bytes, size, cost);
    if (ns >= best_ns) continue;
    best = algorithm;
    best_ns = ns;
  }
  return best;
}

}  // namespace halftone
