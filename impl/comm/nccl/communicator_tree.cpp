// Reductions of a communicator in the tree of process_group.h: the ranks exchange their parts, and each adds its own.
#include <algorithm>

#include "comm/nccl/communicator.h"
#include "comm/nccl/tree_reduction.h"

namespace halftone::nccl {
namespace {

// Large reductions go in ranges, so that the other ranks' parts have a bound.
constexpr int64_t kMostScratch = int64_t{32} << 20;

}  // namespace

// A part of the range is every rank's to reduce: it gets this part of all ranks' inputs as stored, and sends the result
// to every rank.
Status Communicator::all_reduce_in_tree(const Request& request, const Patience& patience) {
  const int64_t count = request.in.numel();
  const int64_t most = std::max<int64_t>(kMostScratch / static_cast<int64_t>(size_of(request.in.dtype)), seat_.size);
  Status status;
  for (int64_t begin = 0; begin < count && status.ok(); begin += most) {
    status = all_reduce_range(request, {.begin = begin, .count = std::min(most, count - begin)}, patience);
  }
  return status;
}

Status Communicator::all_reduce_range(const Request& request, const Part& range, const Patience& patience) {
  const auto size = static_cast<int64_t>(size_of(request.in.dtype));
  const Part own = part_of(range.count, seat_.size, seat_.rank);
  const auto row = [&](int32_t rank) { return scratch_ + (rank < seat_.rank ? rank : rank - 1) * own.count * size; };
  Status status = reserve_scratch((seat_.size - 1) * own.count * size);
  if (!status.ok()) return status;
  status = swap(
      [&](int32_t rank) {
        const Part part = part_of(range.count, seat_.size, rank);
        return Piece{address_of(request.in, range.begin + part.begin), row(rank), part.count * size, own.count * size};
      },
      patience);
  if (!status.ok()) return status;
  const RankParts parts{.own = address_of(request.in, range.begin + own.begin),
                        .others = scratch_,
                        .rank = seat_.rank,
                        .size = seat_.size,
                        .count = own.count};
  std::byte* const result = address_of(request.out, range.begin + own.begin);
  status = reduce_in_tree(stream_, request.reduce_op, request.in.dtype, parts, result);
  if (!status.ok()) return status;
  return swap(
      [&](int32_t rank) {
        const Part part = part_of(range.count, seat_.size, rank);
        return Piece{result, address_of(request.out, range.begin + part.begin), own.count * size, part.count * size};
      },
      patience);
}

Status Communicator::reduce_scatter_in_tree(const Request& request, const Patience& patience) {
  const int64_t count = request.out.numel();
  const int64_t others = std::max<int64_t>(seat_.size - 1, 1) * static_cast<int64_t>(size_of(request.in.dtype));
  const int64_t most = std::max<int64_t>(kMostScratch / others, 1);
  Status status;
  for (int64_t begin = 0; begin < count && status.ok(); begin += most) {
    status = reduce_scatter_range(request, {.begin = begin, .count = std::min(most, count - begin)}, patience);
  }
  return status;
}

Status Communicator::reduce_scatter_range(const Request& request, const Part& range, const Patience& patience) {
  const int64_t count = request.out.numel();
  const int64_t bytes = range.count * static_cast<int64_t>(size_of(request.in.dtype));
  const auto input = [&](int32_t rank) { return address_of(request.in, rank * count + range.begin); };
  Status status = reserve_scratch((seat_.size - 1) * bytes);
  if (!status.ok()) return status;
  status = swap(
      [&](int32_t rank) {
        std::byte* const place = scratch_ + (rank < seat_.rank ? rank : rank - 1) * bytes;
        return Piece{input(rank), place, bytes, bytes};
      },
      patience);
  if (!status.ok()) return status;
  const RankParts parts{
      .own = input(seat_.rank), .others = scratch_, .rank = seat_.rank, .size = seat_.size, .count = range.count};
  return reduce_in_tree(stream_, request.reduce_op, request.in.dtype, parts, address_of(request.out, range.begin));
}

}  // namespace halftone::nccl
