#include "analysis/statistics/kept_lines.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace halftone::analysis {

namespace {

constexpr size_t kPiece = size_t{1} << 20;
// A longer line belongs to no record.
constexpr size_t kLongestLine = size_t{16} << 20;

constexpr std::string_view kBegin = "{\"step\":";

[[noreturn]] void fail_format(const File& file, int64_t line) {
  fail(Code::kFormat, "", "%s is no record of a run: line %lld does not begin with a step", file.path().c_str(),
       static_cast<long long>(line));
}

// The complete lines of a text that comes in pieces.
class LineFilter {
 public:
  LineFilter(const File& file, int64_t after_step) : file_(file), after_step_(after_step) {}

  // Returns the lines to keep that end in this piece.
  std::string add(std::string_view piece) {
    text_ += piece;
    std::string kept;
    size_t begin = 0;
    for (size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line(text_.data() + begin, end + 1 - begin);
      if (is_kept(line)) kept += line;
    }
    text_.erase(0, begin);
    if (text_.size() > kLongestLine) fail_format(file_, line_ + 1);
    return kept;
  }

 private:
  bool is_kept(std::string_view line) {
    ++line_;
    const int64_t step = step_of_line(line);
    if (step < 0) fail_format(file_, line_);
    return step <= after_step_;
  }

  const File& file_;
  const int64_t after_step_;
  std::string text_;
  int64_t line_ = 0;
};

}  // namespace

int64_t step_of_line(std::string_view line) noexcept {
  if (!line.starts_with(kBegin)) return -1;
  line.remove_prefix(kBegin.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  int64_t step = -1;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool is_whole = error == std::errc() && end < line.data() + line.size() && *end == ',';
  return is_whole ? std::max<int64_t>(step, -1) : -1;
}

uint64_t copy_kept_lines(const File& from, int64_t after_step, File& to) {
  LineFilter filter(from, after_step);
  std::string piece;
  uint64_t written = 0;
  for (uint64_t at = 0; at < from.size(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min<uint64_t>(kPiece, from.size() - at)));
    from.read(at, piece.data(), piece.size());
    const std::string kept = filter.add(piece);
    to.write(written, kept.data(), kept.size());
    written += kept.size();
  }
  return written;
}

void require_record(const File& file) {
  char begin[kBegin.size()];
  const auto size = static_cast<size_t>(std::min<uint64_t>(sizeof begin, file.size()));
  file.read(0, begin, size);
  if (!kBegin.starts_with(std::string_view(begin, size))) fail_format(file, 1);
}

}  // namespace halftone::analysis
