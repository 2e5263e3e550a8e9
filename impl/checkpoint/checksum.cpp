#include "checkpoint/checksum.h"

namespace halftone::checkpoint {

std::string hexadecimal(uint64_t value) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) text[static_cast<size_t>(i)] = "0123456789abcdef"[value & 15];
  return text;
}

bool parse_hexadecimal(const std::string& text, uint64_t* out) {
  if (text.size() != 16) return false;
  uint64_t value = 0;
  for (char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) return false;
    value = value << 4 | static_cast<uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  *out = value;
  return true;
}

static std::string hexadecimal(XXH128_hash_t hash) { return hexadecimal(hash.high64) + hexadecimal(hash.low64); }

std::string checksum_of_text(const char* text, size_t size) { return hexadecimal(XXH3_128bits(text, size)); }

std::string TextChecksum::value() const { return hexadecimal(XXH3_128bits_digest(&state_)); }

}  // namespace halftone::checkpoint
