#include "draw/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "record/run.h"

namespace halftone_report {
namespace {

std::string digits_of(double number, int digits) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, digits).ptr};
}

std::string unknown_text(double number) { return is_there(number) ? "not finite" : "-"; }

struct Prefix {
  double factor;
  const char* name;
};

// The largest unit that the number has at least one of.
template <size_t size>
std::string with_prefix(double number, const Prefix (&prefixes)[size], int digits) {
  const Prefix* fitting = &prefixes[0];
  for (const Prefix& one : prefixes) {
    if (std::fabs(number) >= one.factor * 0.9995) fitting = &one;
  }
  const double value = number / fitting->factor;
  return digits_of(value, std::fabs(value) >= 100 ? std::max(digits, 3) : digits) + " " + fitting->name;
}

}  // namespace

std::string short_text(double number, int digits) {
  if (!is_known(number)) return unknown_text(number);
  const double magnitude = std::fabs(number);
  if (magnitude >= 1000 && magnitude < 1e6 && digits < 5) return count_text(std::round(number));
  return digits_of(number, digits);
}

std::string count_text(double number) {
  if (!is_known(number)) return unknown_text(number);
  if (std::fabs(number) >= 1e15) return digits_of(number, 3);
  std::string text = std::to_string(std::llround(number));
  const size_t begin = text[0] == '-' ? 1 : 0;
  for (size_t place = text.size(); place > begin + 3;) text.insert(place -= 3, 1, ',');
  return text;
}

std::string seconds_text(double seconds, int digits) {
  constexpr Prefix kPrefixes[] = {{1e-9, "ns"}, {1e-6, "\u00b5s"}, {1e-3, "ms"}, {1.0, "s"}};
  if (!is_known(seconds)) return unknown_text(seconds);
  return seconds == 0 ? "0 s" : with_prefix(seconds, kPrefixes, digits);
}

std::string bytes_text(double bytes, int digits) {
  constexpr Prefix kPrefixes[] = {{1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}};
  if (!is_known(bytes)) return unknown_text(bytes);
  return bytes == 0 ? "0 B" : with_prefix(bytes, kPrefixes, digits);
}

std::string share_text(double share, int digits) {
  if (!is_known(share)) return unknown_text(share);
  return digits_of(share * 100, share >= 0.9995 ? digits + 1 : digits) + " %";
}

std::string power_of_two(int exponent) {
  constexpr const char* kDigits[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                     "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = exponent < 0 ? "2\u207b" : "2";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

std::string power_text(double number) {
  if (!is_known(number)) return unknown_text(number);
  return number > 0 ? power_of_two(std::ilogb(number)) : "0";
}

std::string text_in(Unit unit, double number, int digits) {
  switch (unit) {
    case Unit::kNone:
      return short_text(number, digits);
    case Unit::kSeconds:
      return seconds_text(number, digits);
    case Unit::kBytes:
      return bytes_text(number, digits);
    case Unit::kShare:
      return share_text(number, digits);
    case Unit::kPower:
      return power_text(number);
  }
  return {};
}

}  // namespace halftone_report
