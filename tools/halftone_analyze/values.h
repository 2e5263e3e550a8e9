// The values of options: names and numbers. What is wrong with one is printed with its option, and the program ends
// with 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halftone_analyze {

[[noreturn]] void refuse(const std::string& problem);

// `expected` says which values there are.
[[noreturn]] void refuse(std::string_view flag, std::string_view text, const std::string& expected);

// The one of `all` that has the name.
template <class Named, size_t count>
const Named* named(std::string_view flag, std::string_view text, const Named (&all)[count]) {
  std::string names;
  for (const Named& one : all) {
    if (one.name == text) return &one;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  refuse(flag, text, "one of " + names);
}

double finite_number(std::string_view flag, std::string_view text);
int64_t whole_number(std::string_view flag, std::string_view text, int64_t least, int64_t most);

}  // namespace halftone_analyze
