#include "comm/file_store/key_name.h"

#include "core/error.h"

namespace halftone {
namespace {

constexpr size_t kLongestName = 255;  // NAME_MAX of Linux's file systems

bool is_kept(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

std::string file_name_of(const char* key) {
  if (key == nullptr) fail(Code::kInvalidArgument, "key", "key is null, expected a text");
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string name = "key.";
  for (const char* c = key; *c != '\0' && name.size() <= kLongestName; ++c) {
    if (is_kept(*c)) {
      name += *c;
    } else {
      const auto byte = static_cast<unsigned char>(*c);
      name.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  if (name.size() <= kLongestName) return name;
  fail(Code::kInvalidArgument, "key", "the key \"%.64s...\" is too long for the name of a file", key);
}

}  // namespace halftone
