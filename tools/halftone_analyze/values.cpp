#include "values.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "text.h"

namespace halftone_analyze {
namespace {

template <class Number>
bool read(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void refuse(const std::string& problem) {
  std::fprintf(stderr, "halftone-analyze: %s\nhalftone-analyze: try halftone-analyze --help\n",
               escaped(problem).c_str());
  std::exit(2);
}

void refuse(std::string_view flag, std::string_view text, const std::string& expected) {
  refuse(std::string(flag) + " " + std::string(text) + ": expected " + expected);
}

double finite_number(std::string_view flag, std::string_view text) {
  double value = 0;
  if (!read(text, value) || !std::isfinite(value)) refuse(flag, text, "a finite number");
  return value;
}

int64_t whole_number(std::string_view flag, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  if (!read(text, value)) refuse(flag, text, "a whole number");
  if (value < least || value > most) refuse(flag, text, std::to_string(least) + " to " + std::to_string(most));
  return value;
}

}  // namespace halftone_analyze
