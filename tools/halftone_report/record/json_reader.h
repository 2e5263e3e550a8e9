// Reads the JSON of one line, value by value, in the order of the text. Every function throws std::runtime_error where
// the text is no JSON or another type of value. One thread at a time.
#pragma once

#include <string>
#include <string_view>

namespace halftone_report {

class JsonReader {
 public:
  // The text must outlive the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}

  // Calls member(name), which reads or skips the value, for each member of an object.
  template <class Member>
  void object(Member member) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string name(string());
      expect(':');
      member(name);
    } while (accept(','));
    expect('}');
  }

  // Calls element(), which reads or skips the value, for each element of an array.
  template <class Element>
  void array(Element element) {
    expect('[');
    if (accept(']')) return;
    do element();
    while (accept(','));
    expect(']');
  }

  // A record has null for a number that is not finite: it becomes NaN.
  double number();
  // Valid until the next call of this function.
  std::string_view string();
  void skip() { skip(0); }
  // Nothing but spaces may be left.
  void finish();

 private:
  char next();
  void expect(char wanted);
  bool accept(char wanted);
  void expect_word(std::string_view word);
  void skip(int depth);
  void append_escape();
  unsigned hexadecimal();
  [[noreturn]] void fail(std::string_view expected) const;

  std::string_view text_;
  size_t place_ = 0;
  std::string unescaped_;
};

}  // namespace halftone_report
