// A hash for strings from untrusted files: without the key, the author of a file cannot choose names that collide.
// SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012). The key differs between processes, so no
// saved or computed value may depend on the hash. Pure functions, safe from any thread.
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

// Random; constant until the process ends.
HashKey process_hash_key() noexcept;

}  // namespace halftone
