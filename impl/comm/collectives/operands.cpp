#include "comm/collectives/operands.h"

#include <algorithm>
#include <functional>

namespace halftone {
namespace {

bool reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
}

Status check_reduction(ReduceOp op, DType dtype) {
  if (op < ReduceOp::kSum || op > ReduceOp::kMax) {
    return Status::failure(Code::kInvalidArgument, "op is %d, which is no reduction", static_cast<int>(op));
  }
  if (op == ReduceOp::kAverage && !is_float(dtype)) {
    return Status::failure(Code::kDtypeMismatch, "an average takes floats, not %s", name_of(dtype));
  }
  if (op == ReduceOp::kSum && dtype == DType::kBool) {
    return Status::failure(Code::kDtypeMismatch, "a sum takes numbers, not bool");
  }
  return {};
}

Status check_rank(const char* name, int32_t peer, int32_t size) {
  if (peer >= 0 && peer < size) return {};
  return Status::failure(Code::kInvalidArgument, "%s is %d, expected 0 to %d", name, peer, size - 1);
}

Status check_counts(const Request& request, int32_t size) {
  const int64_t in = request.in.numel();
  const int64_t out = request.out.numel();
  const bool gathers = request.operation == Operation::kAllGather;
  const bool scatters = request.operation == Operation::kReduceScatter;
  const bool fits = gathers    ? out % size == 0 && out / size == in
                    : scatters ? in % size == 0 && in / size == out
                               : in == out;
  if (!fits) {
    return Status::failure(Code::kShapeMismatch, "in has %lld elements and out has %lld, which do not fit %d ranks",
                           static_cast<long long>(in), static_cast<long long>(out), size);
  }
  if (request.operation == Operation::kAllToAll && in % size != 0) {
    return Status::failure(Code::kShapeMismatch, "in has %lld elements, which do not divide among %d ranks",
                           static_cast<long long>(in), size);
  }
  return {};
}

// The address of `in` that makes the operation in place; null if the operation has none.
const void* in_place_address(const Request& request, int32_t rank) {
  if (request.operation == Operation::kAllGather) return address_of(request.out, rank * request.in.numel());
  if (request.operation == Operation::kReduceScatter) return address_of(request.out, -rank * request.out.numel());
  return request.operation == Operation::kAllToAll ? nullptr : request.out.data;
}

bool overlap(const View& a, const View& b) {
  const std::less<const void*> before;
  return before(b.data, address_of(a, a.numel())) && before(a.data, address_of(b, b.numel()));
}

Status check_overlap(const Request& request, int32_t rank) {
  if (!overlap(request.in, request.out) || request.in.data == in_place_address(request, rank)) return {};
  return Status::failure(Code::kInvalidArgument, "in and out overlap, but are not in place");
}

Status check_transfer(const Transfer& transfer, int32_t rank, int32_t size) {
  if (transfer.direction != Operation::kSend && transfer.direction != Operation::kReceive) {
    return Status::failure(Code::kInvalidArgument, "direction is %d, which is neither send nor receive",
                           static_cast<int>(transfer.direction));
  }
  if (!is_valid(transfer.data.dtype)) return Status::failure(Code::kDtypeMismatch, "data has no valid dtype");
  if (!is_contiguous(transfer.data)) return Status::failure(Code::kInvalidArgument, "data is not contiguous");
  if (transfer.peer == rank) return Status::failure(Code::kInvalidArgument, "peer is %d, which is this rank", rank);
  return check_rank("peer", transfer.peer, size);
}

// A message that arrives writes while the others are read and written.
Status check_apart(std::span<const Transfer> transfers) {
  for (size_t i = 0; i < transfers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool writes =
          transfers[i].direction == Operation::kReceive || transfers[j].direction == Operation::kReceive;
      if (!writes || !overlap(transfers[i].data, transfers[j].data)) continue;
      return Status::failure(Code::kInvalidArgument, "messages %zu and %zu of the batch overlap", j, i);
    }
  }
  return {};
}

Status check_transfers(const Request& request, int32_t rank, int32_t size) {
  if (request.transfer_count < 0 || (request.transfer_count > 0 && request.transfers == nullptr)) {
    return Status::failure(Code::kInvalidArgument, "a batch of %d messages has no messages", request.transfer_count);
  }
  const std::span<const Transfer> transfers = transfers_of(request);
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Status status = check_transfer(transfers[i], rank, size);
    if (status.ok()) continue;
    if (transfers.size() == 1) return status;
    return Status::failure(status.code, "message %zu of a batch: %.200s", i, status.message);
  }
  return check_apart(transfers);
}

}  // namespace

int64_t bytes_of_transfers(const Request& request, Operation direction) noexcept {
  int64_t bytes = 0;
  for (const Transfer& transfer : transfers_of(request)) {
    if (transfer.direction == direction) bytes += bytes_of(transfer.data);
  }
  return bytes;
}

int64_t messages_sent_by(const Request& request) noexcept {
  if (request.operation != Operation::kMessages) return 1;
  const auto transfers = transfers_of(request);
  return std::count_if(transfers.begin(), transfers.end(),
                       [](const Transfer& transfer) { return transfer.direction == Operation::kSend; });
}

int64_t bytes_sent_by_rings(const Request& request, int32_t rank, int32_t size) noexcept {
  const int64_t in = bytes_of(request.in), others = size - 1;
  switch (request.operation) {
    case Operation::kAllReduce:
      return 2 * in / size * others;
    case Operation::kAllGather:
      return in * others;
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return in / size * others;
    case Operation::kBroadcast:
      return rank == request.peer ? in * others : 0;
    case Operation::kMessages:
      return bytes_of_transfers(request, Operation::kSend);
    default:
      return 0;
  }
}

Status check_request(const Request& request, int32_t rank, int32_t size) noexcept {
  if (request.operation == Operation::kBarrier) return {};
  if (request.operation == Operation::kMessages) return check_transfers(request, rank, size);
  if (request.operation < Operation::kAllReduce || request.operation > Operation::kBarrier) {
    return Status::failure(Code::kInvalidArgument, "operation is %d, which no group has",
                           static_cast<int>(request.operation));
  }
  if (!is_valid(request.in.dtype) || request.in.dtype != request.out.dtype) {
    return Status::failure(Code::kDtypeMismatch, "in is %s and out is %s", name_of(request.in.dtype),
                           name_of(request.out.dtype));
  }
  if (!is_contiguous(request.in) || !is_contiguous(request.out)) {
    return Status::failure(Code::kInvalidArgument, "%s is not contiguous", is_contiguous(request.in) ? "out" : "in");
  }
  if (request.operation == Operation::kBroadcast) {
    if (Status status = check_rank("root", request.peer, size); !status.ok()) return status;
  }
  if (reduces(request.operation)) {
    if (Status status = check_reduction(request.reduce_op, request.in.dtype); !status.ok()) return status;
  }
  if (Status status = check_counts(request, size); !status.ok()) return status;
  return check_overlap(request, rank);
}

}  // namespace halftone
