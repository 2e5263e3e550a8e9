// Requests to a store and its replies as bytes: a length, then numbers and length-prefixed texts. Both ends have passed
// the handshake; still, a reader never trusts a length. Pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/status.h"

namespace halftone {

// Bytes behind the length. A larger request is refused before memory is taken for it.
inline constexpr uint32_t kMaxFrame = uint32_t{64} << 20;

enum class StoreCall : uint32_t { kSet, kGet, kWait, kAdd, kCompareSet, kRemove };

// A value that may be absent.
struct OptionalText {
  bool exists = false;
  std::string text;
};

struct StoreRequest {
  StoreCall call = StoreCall::kSet;
  int64_t number = 0;             // the amount of kAdd; the timeout of kGet and kWait
  std::vector<std::string> keys;  // one, but for kWait
  OptionalText value;             // of kSet; the expected one of kCompareSet
  OptionalText desired;           // of kCompareSet
};

struct StoreReply {
  Status status;
  int64_t number = 0;  // the sum, whether it was swapped, or whether it existed
  std::string value;
};

// With the length. Both throw OUT_OF_MEMORY.
std::string encode(const StoreRequest& request);
std::string encode(const StoreReply& reply);
// Without the length. false if the bytes are no request or reply.
bool decode(std::string_view bytes, StoreRequest* out);
bool decode(std::string_view bytes, StoreReply* out);

}  // namespace halftone
