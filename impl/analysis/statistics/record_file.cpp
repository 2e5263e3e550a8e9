#include "analysis/statistics/record_file.h"

#include "analysis/statistics/kept_lines.h"

namespace halftone::analysis {

RecordFile::RecordFile(const Io& io, const std::string& path, int64_t after_step) {
  std::optional<File> former;
  if (is_file(io, path)) former.emplace(File::open(io, path));
  if (former) require_record(*former);
  replace_file(io, path, [&](File& file) {
    if (former && after_step > 0) written_ = copy_kept_lines(*former, after_step, file);
  });
  file_.emplace(File::open_or_create(io, path));
}

void RecordFile::add(const std::string& line) {
  if (pending_.size() + line.size() >= kMostPending) return;
  pending_ += line;
  pending_ += '\n';
}

// The part of the text that a failed call has written is written again.
void RecordFile::write() {
  if (pending_.empty()) return;
  file_->write(written_, pending_.data(), pending_.size());
  written_ += pending_.size();
  pending_.clear();
}

void RecordFile::sync() {
  write();
  file_->sync();
}

}  // namespace halftone::analysis
