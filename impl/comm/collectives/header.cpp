#include "comm/collectives/header.h"

#include <cinttypes>
#include <cstdio>

namespace halftone {
namespace {

constexpr const char* kOperationNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all",
                                           "barrier",    "send",       "receive",        "batch"};
constexpr const char* kReductionNames[] = {"sum", "average", "min", "max"};

// Others belong to an operation of all ranks.
bool has_two_ranks(Operation operation) { return operation == Operation::kSend || operation == Operation::kReceive; }

bool has_reduction(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
}

}  // namespace

Header header_of(const Request& request, uint64_t hash, uint64_t sequence, int32_t round) noexcept {
  Header header{.sequence = sequence, .hash = hash, .operation = request.operation, .round = round};
  if (request.operation == Operation::kBarrier) return header;
  header.count = request.count();
  header.dtype = request.in.dtype;
  if (request.operation == Operation::kBroadcast) header.argument = request.peer;
  if (has_reduction(request.operation)) header.argument = static_cast<int32_t>(request.reduce_op);
  return header;
}

Header header_of(const Transfer& transfer, uint64_t hash, int32_t rank, uint64_t number) noexcept {
  return {.sequence = number,
          .hash = hash,
          .count = transfer.data.numel(),
          .operation = transfer.direction,
          .dtype = transfer.data.dtype,
          .argument = transfer.direction == Operation::kSend ? transfer.peer : rank};
}

CallText::CallText(const Header& header, const RankNames& names) noexcept {
  const char* name = kOperationNames[static_cast<int>(header.operation)];
  int length = std::snprintf(text, sizeof text, "%s", name);
  const auto append = [&](const char* format, auto... values) {
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), format, values...);
  };
  if (header.operation != Operation::kBarrier) append(" of %" PRId64 " %s", header.count, name_of(header.dtype));
  if (has_reduction(header.operation)) append(" with %s", kReductionNames[header.argument]);
  if (header.operation == Operation::kBroadcast) append(" from rank %d", names[header.argument]);
  if (has_two_ranks(header.operation)) append(" to rank %d", names[header.argument]);
}

HeaderText::HeaderText(const Header& header, const RankNames& names) noexcept {
  const char* number = has_two_ranks(header.operation) ? "message" : "operation";
  std::snprintf(text, sizeof text, "%s (%s %" PRIu64 ")", CallText(header, names).text, number, header.sequence);
}

Status compare(int own_rank, const Header& own, int peer_rank, const Header& peer, const RankNames& names) noexcept {
  Header expected = own;
  if (own.operation == Operation::kReceive) expected.operation = Operation::kSend;
  if (expected == peer) return {};
  // The lower rank first, so that every rank that notices it says it alike.
  const bool own_first = names[own_rank] < names[peer_rank];
  const Header& first = own_first ? own : peer;
  const Header& second = own_first ? peer : own;
  const int ranks[] = {names[own_first ? own_rank : peer_rank], names[own_first ? peer_rank : own_rank]};
  if (own.hash != peer.hash) {
    return Status::failure(
        Code::kComm, "rank %d called %s with hash %016" PRIx64 ", rank %d called %s with hash %016" PRIx64, ranks[0],
        HeaderText(first, names).text, first.hash, ranks[1], HeaderText(second, names).text, second.hash);
  }
  return Status::failure(Code::kComm, "rank %d called %s, rank %d called %s", ranks[0], HeaderText(first, names).text,
                         ranks[1], HeaderText(second, names).text);
}

}  // namespace halftone
