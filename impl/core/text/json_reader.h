// Reads JSON (RFC 8259) and reports each token to a handler. Every byte is treated as hostile: the reader
// does not recurse, and the only text that it holds is the string that it reads, never a number or blanks. It refuses
// every byte that JSON does not allow, such as a zero byte or a byte order mark. One thread at a time.
//
// A parser library would hold more: nlohmann-json keeps each text twice and copies the last one into its message, so a
// header of 24 MB takes 162 MB (tests/checkpoint/large_tokens_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/text/byte_source.h"

namespace halftone {

class JsonHandler {
 public:
  virtual ~JsonHandler() = default;

  virtual void literal() = 0;  // true, false or null
  // The value is -magnitude if is_negative. Minus zero is an integer.
  virtual void integer(bool is_negative, uint64_t magnitude) = 0;
  virtual void other_number() = 0;  // with a fraction or an exponent, or an integer of more than 64 bits
  virtual void text(std::string value) = 0;
  virtual void key(std::string value) = 0;
  virtual void begin_object() = 0;
  virtual void end_object() = 0;
  virtual void begin_list() = 0;
  virtual void end_list() = 0;

  // The length limit of the next key or text. Of a longer one the reader keeps one byte more than the limit: enough for
  // the handler to refuse it, and the rest is never held.
  virtual size_t longest_text() const { return SIZE_MAX - 1; }
};

// Reads one value, with spaces behind it and nothing else. Lists and objects may be nested 8 deep. Throws FORMAT naming
// the first byte of the text that is no JSON in UTF-8. Exceptions of the handler pass through.
void read_json(ByteSource& text, JsonHandler& handler);

}  // namespace halftone
