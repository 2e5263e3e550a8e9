// Numbers as text for people: few digits, and the unit that fits.
#pragma once

#include <cstdint>
#include <string>

namespace halftone_report {

enum class Unit { kNone, kSeconds, kBytes, kShare, kPower };

// So many digits, zeros at the end left out: "0.0123", "12.3", "1.5e-07". Numbers that a record does not have are "-",
// NaN is "not finite".
std::string short_text(double number, int digits = 3);
// A whole number: "12,345".
std::string count_text(double number);
// "12.5 ms".
std::string seconds_text(double seconds, int digits = 3);
// "1.5 GiB".
std::string bytes_text(double bytes, int digits = 3);
// "0.25 %".
std::string share_text(double share, int digits = 3);
// A power of two, with a superscript: the one at or below the number.
std::string power_text(double number);
std::string power_of_two(int exponent);
std::string text_in(Unit unit, double number, int digits = 3);

}  // namespace halftone_report
