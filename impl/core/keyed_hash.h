// A hash of texts that come from outside: who writes a file cannot choose names that collide, for he does not know the
// key. SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012). Nothing that is saved or computed
// may depend on it. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halftone {

struct HashKey {
  uint64_t low = 0;
  uint64_t high = 0;
};

uint64_t keyed_hash(HashKey key, std::string_view text) noexcept;

// Random, the same until the process ends.
HashKey process_hash_key() noexcept;

}  // namespace halftone
