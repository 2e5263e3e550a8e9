// The ways in which ranks may exchange the messages of an operation, and how long each takes. Used by the collectives
// to choose one, and by programs that plan. Pure functions.
//
// The model: an operation is a number of rounds. In a round a rank sends one message or several, one after another, and
// waits for those of others: message_ns for the first, next_ns for each further one, and byte_ns for each byte of all.
#pragma once

#include <cstdint>

#include "comm/group/process_group.h"

namespace halftone {

enum class Algorithm : int32_t {
  kDirect,  // every rank exchanges messages with every other rank
  kTree,    // distances double from round to round, so that few rounds reach all ranks
  kRing,    // parts go from each rank to the next
};

// An operand of one rank is gathered by kTree if the operands of all ranks have at most this many bytes: they go
// through a copy of their own.
inline constexpr int64_t kLargestTreeBytes = int64_t{1} << 20;

// Returns infinity if the operation has no such algorithm, or has none for so many bytes. `bytes` are those of `in`.
double predicted_ns(Operation operation, Algorithm algorithm, int64_t bytes, int32_t size,
                    const LinkCost& cost) noexcept;

// Returns the first of the algorithms that take equally long.
Algorithm fastest(Operation operation, int64_t bytes, int32_t size, const LinkCost& cost) noexcept;

}  // namespace halftone
