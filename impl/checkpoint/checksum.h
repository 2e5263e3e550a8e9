// The checksums of checkpoints: XXH3, with 64 bits for a tensor or a file's header and 128 bits for an index. They
// detect damage, not forgery. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace halftone::checkpoint {

inline uint64_t checksum(const void* data, size_t size) { return XXH3_64bits(data, size); }

// The value of checksum() for bytes that come piece by piece.
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
// Returns false unless `text` is sixteen hexadecimal digits in lower case.
bool parse_hexadecimal(const std::string& text, uint64_t* out);
// 128 bits over a whole text, as 32 hexadecimal digits.
std::string checksum_of_text(const char* text, size_t size);

// The value of checksum_of_text for a text that comes piece by piece.
class TextChecksum {
 public:
  TextChecksum() { XXH3_128bits_reset(&state_); }
  void add(const void* data, size_t size) { XXH3_128bits_update(&state_, data, size); }
  std::string value() const;

 private:
  XXH3_state_t state_;
};

}  // namespace halftone::checkpoint
