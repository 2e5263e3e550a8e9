// The checksums of checkpoints: XXH3, 64 bits over a tensor or a file's header, 128 over an index. They find damage,
// not malice. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace halftone::checkpoint {

inline uint64_t checksum(const void* data, size_t size) { return XXH3_64bits(data, size); }

// The same over bytes that come piece by piece.
class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }
  void add(const void* data, size_t size) { XXH3_64bits_update(&state_, data, size); }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

// Sixteen hexadecimal digits.
std::string hexadecimal(uint64_t value);
// Answers whether `text` are sixteen hexadecimal digits in lower case.
bool parse_hexadecimal(const std::string& text, uint64_t* out);
// Of a whole text: 32 hexadecimal digits.
std::string checksum_of_text(const char* text, size_t size);

}  // namespace halftone::checkpoint
