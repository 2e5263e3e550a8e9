#include "comm/collectives/operands.h"

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

Status check_peer(const Request& request, int32_t rank, int32_t size) {
  const bool is_broadcast = request.operation == Operation::kBroadcast;
  if (!is_broadcast && !has_two_ranks(request.operation)) return {};
  const char* name = is_broadcast ? "root" : "peer";
  if (request.peer < 0 || request.peer >= size) {
    return Status::failure(Code::kInvalidArgument, "%s is %d, expected 0 to %d", name, request.peer, size - 1);
  }
  if (!is_broadcast && request.peer == rank) {
    return Status::failure(Code::kInvalidArgument, "peer is %d, which is this rank", rank);
  }
  return {};
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

Status check_overlap(const Request& request, int32_t rank) {
  const std::less<const void*> before;
  const bool is_apart = !before(request.out.data, address_of(request.in, request.in.numel())) ||
                        !before(request.in.data, address_of(request.out, request.out.numel()));
  if (is_apart || request.in.data == in_place_address(request, rank)) return {};
  return Status::failure(Code::kInvalidArgument, "in and out overlap, but are not in place");
}

}  // namespace

int64_t bytes_sent_by_rings(const Request& request, int32_t rank, int32_t size) noexcept {
  const int64_t in = request.in.numel() * static_cast<int64_t>(size_of(request.in.dtype)), others = size - 1;
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
    case Operation::kSend:
      return in;
    default:
      return 0;
  }
}

Status check_request(const Request& request, int32_t rank, int32_t size) noexcept {
  if (request.operation == Operation::kBarrier) return {};
  if (!is_valid(request.in.dtype) || request.in.dtype != request.out.dtype) {
    return Status::failure(Code::kDtypeMismatch, "in is %s and out is %s", name_of(request.in.dtype),
                           name_of(request.out.dtype));
  }
  if (!is_contiguous(request.in) || !is_contiguous(request.out)) {
    return Status::failure(Code::kInvalidArgument, "%s is not contiguous", is_contiguous(request.in) ? "out" : "in");
  }
  if (Status status = check_peer(request, rank, size); !status.ok()) return status;
  if (reduces(request.operation)) {
    if (Status status = check_reduction(request.reduce_op, request.in.dtype); !status.ok()) return status;
  }
  if (Status status = check_counts(request, size); !status.ok()) return status;
  return check_overlap(request, rank);
}

}  // namespace halftone
