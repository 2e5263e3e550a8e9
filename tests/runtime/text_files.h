// An Io table over a few text files in memory, for tests of code that reads /proc and /sys.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/io.h"

namespace halftone {

class TextFiles {
 public:
  using Texts = std::map<std::string, std::string>;  // by path

  explicit TextFiles(Texts files) : files_(std::move(files)) {}

  Io io() {
    Io table = {};
    table.user = this;
    table.open = [](void* user, const char* path, int32_t, uint32_t) { return self(user).open(path); };
    table.read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) {
      return self(user).read(file, offset, buffer, size);
    };
    table.close = [](void* user, int64_t) {
      --self(user).open_count_;
      return int64_t{0};
    };
    return table;
  }

  // Maximum number of bytes per read.
  void set_largest_read(size_t bytes) { largest_read_ = bytes; }
  void set_read_error(int error) { read_error_ = error; }
  int open_count() const { return open_count_; }

 private:
  static TextFiles& self(void* user) { return *static_cast<TextFiles*>(user); }

  int64_t open(const char* path) {
    const auto found = files_.find(path);
    if (found == files_.end()) return -ENOENT;
    ++open_count_;
    texts_.push_back(found->second);
    return static_cast<int64_t>(texts_.size()) - 1;
  }

  int64_t read(int64_t file, uint64_t offset, void* buffer, size_t size) const {
    if (read_error_ != 0) return -read_error_;
    const std::string& text = texts_[static_cast<size_t>(file)];
    if (offset >= text.size()) return 0;
    const size_t moved = std::min({size, largest_read_, text.size() - static_cast<size_t>(offset)});
    std::memcpy(buffer, text.data() + offset, moved);
    return static_cast<int64_t>(moved);
  }

  Texts files_;
  std::vector<std::string> texts_;
  size_t largest_read_ = SIZE_MAX;
  int read_error_ = 0;
  int open_count_ = 0;
};

}  // namespace halftone
