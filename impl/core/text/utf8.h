// UTF-8 as the standard has it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions, safe from any
// thread.
#pragma once

#include <cstddef>

namespace halftone {

// The length of the sequence that begins at `text`, of which `size` bytes (at least 1) may be read; 0 where none does.
inline size_t utf8_length(const char* text, size_t size) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length > size) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool is_no_character = (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf4 && byte(1) >= 0x90);
  return is_overlong || is_no_character ? 0 : length;
}

inline bool is_utf8(const char* text, size_t size) noexcept {
  for (size_t i = 0; i < size;) {
    const size_t length = utf8_length(text + i, size - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace halftone
