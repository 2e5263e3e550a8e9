#include "line_writer.h"

#include <unistd.h>

#include <cerrno>

namespace halftone_run {
namespace {

constexpr size_t kLongestLine = size_t{1} << 16;

// Output without a reader is lost, as it is for a program of its own.
void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void LineWriter::write(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find_first_of("\r\n");
    const size_t size = end == std::string_view::npos ? text.size() : end + 1;
    line_ += text.substr(0, size);
    text.remove_prefix(size);
    if (end == std::string_view::npos && line_.size() < kLongestLine) return;
    put(line_);
    line_.clear();
  }
}

void LineWriter::finish() {
  if (line_.empty()) return;
  put(line_ + "\n");
  line_.clear();
}

void LineWriter::put(std::string_view line) { write_all(file_, prefix_ + std::string(line)); }

}  // namespace halftone_run
