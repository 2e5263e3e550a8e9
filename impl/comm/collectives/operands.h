// The operands of a request: the checks that every group makes before it starts one, and where its parts are. Used by
// the groups on the caller's thread and on their own. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/group/request.h"
#include "core/status.h"

namespace halftone {

inline std::span<const Transfer> transfers_of(const Request& request) {
  return {request.transfers, static_cast<size_t>(request.transfer_count)};
}

// A range of elements.
struct Part {
  int64_t begin;
  int64_t count;
};

// Part `index` of `count` elements in `parts` parts whose sizes differ by at most one.
inline Part part_of(int64_t count, int64_t parts, int64_t index) {
  const int64_t quotient = count / parts;
  const int64_t rest = count % parts;
  return {.begin = quotient * index + (index < rest ? index : rest), .count = quotient + (index < rest ? 1 : 0)};
}

inline std::byte* address_of(const View& view, int64_t element) {
  return static_cast<std::byte*>(view.data) + element * static_cast<int64_t>(size_of(view.dtype));
}

inline int64_t bytes_of(const View& view) { return view.numel() * static_cast<int64_t>(size_of(view.dtype)); }

// The bytes of the messages that go in this direction.
int64_t bytes_of_transfers(const Request& request, Operation direction) noexcept;

// The messages that a group counts which does not send them itself: the sends of a batch, or one.
int64_t messages_sent_by(const Request& request) noexcept;

// The bytes of operands that a rank sends, if parts go from each rank to the next.
int64_t bytes_sent_by_rings(const Request& request, int32_t rank, int32_t size) noexcept;

// Returns INVALID_ARGUMENT, DTYPE_MISMATCH or SHAPE_MISMATCH for operands that the operation does not accept.
Status check_request(const Request& request, int32_t rank, int32_t size) noexcept;

}  // namespace halftone
