#include "bench/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace halftone {

CommandLine::CommandLine(int argc, char** argv, const char* usage) : words_(argv + 1, argv + argc), usage_(usage) {}

std::string CommandLine::text(const char* option) {
  const auto found = std::find(words_.begin(), words_.end(), option);
  if (found == words_.end()) return {};
  if (found + 1 == words_.end()) refuse();
  const std::string value = found[1];
  words_.erase(found, found + 2);
  return value;
}

int CommandLine::number(const char* option, int otherwise, int most) {
  const std::string value = text(option);
  if (value.empty()) return otherwise;
  int parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size() || parsed < 1 || parsed > most) refuse();
  return parsed;
}

bool CommandLine::flag(const char* option) {
  const auto found = std::find(words_.begin(), words_.end(), option);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

void CommandLine::finish() const {
  if (!words_.empty()) refuse();
}

void CommandLine::refuse() const {
  std::fprintf(stderr, "usage: %s\n", usage_);
  std::exit(2);
}

}  // namespace halftone
