// Writes JSON: strings, numbers, lists and objects. Used for the index of a checkpoint, for trace files and for the
// record of a run. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

namespace halftone {

// Writes JSON from front to back, without a space.
class JsonWriter {
 public:
  void begin(char bracket);  // { or [, as an item or at the top
  void begin(const char* key, char bracket);
  void end(char bracket) { text_ += bracket; }
  void add(const char* key, int64_t value);
  void add(const char* key, const std::string& value);
  void add(int64_t item);
  // With the fewest digits that read back as exactly this FP32 or FP64 number; null if it is not finite.
  void add_number(const char* key, float value);
  void add_number(const char* key, double value);

  const std::string& text() const noexcept { return text_; }

 private:
  void separate();
  void name(const char* key);

  std::string text_;
};

// A JSON string, with its quotes. Throws FORMAT if the text is no UTF-8.
std::string quoted(const std::string& text);

}  // namespace halftone
