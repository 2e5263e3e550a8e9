// Names for a message of one line. One thread at a time.
#pragma once

#include <algorithm>
#include <string>

namespace halftone {

// Up to ten names, with the count of all.
class NameList {
 public:
  void add(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; }, '?');
    if (++count_ <= 10) text_ += (count_ > 1 ? ", " : "") + text;
  }
  int count() const { return count_; }
  // "2 (0.weight, 0.bias)"; "0" for none.
  std::string text() const {
    const std::string count = std::to_string(count_);
    return count_ == 0 ? count : count + " (" + text_ + (count_ > 10 ? ", ...)" : ")");
  }

 private:
  int count_ = 0;
  std::string text_;
};

}  // namespace halftone
