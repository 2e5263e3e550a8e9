// The text with which one rank ends a group on the others, over the group's own connections or through the store. Fixed
// size, equal on all ranks of one version.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/status.h"

namespace halftone {

struct Notice {
  uint64_t operation = 0;  // the first that fails, or its step (Transport::begin); the rank has finished those before
  int32_t rank = 0;
  int32_t code = 0;
  int32_t native_code = 0;
  int32_t reserved = 0;
  char message[Status::kMessageCapacity] = {};

  Notice() = default;
  Notice(uint64_t first_operation, int sender, const Status& reason) noexcept
      : operation(first_operation),
        rank(sender),
        code(static_cast<int32_t>(reason.code)),
        native_code(reason.native_code) {
    if (!reason.ok()) std::memcpy(message, reason.message, sizeof message);
  }

  // PEER_LOST if the notice has no code that it may have.
  Status reason() const noexcept {
    const bool is_known = code > 0 && code <= static_cast<int32_t>(Code::kNotFinite);
    Status status = Status::failure(is_known ? static_cast<Code>(code) : Code::kPeerLost, "%.*s",
                                    static_cast<int>(strnlen(message, sizeof message - 1)), message);
    status.native_code = native_code;
    return status;
  }
};

}  // namespace halftone
