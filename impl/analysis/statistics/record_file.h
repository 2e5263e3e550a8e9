// The file of a run's record. Lines are added in memory and written together, so that a process that is killed leaves
// complete lines, but for the last one. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "core/file.h"

namespace halftone::analysis {

class RecordFile {
 public:
  // Lines beyond this are not kept while they cannot be written.
  static constexpr size_t kMostPending = size_t{16} << 20;

  // Begins a file at `path`. Of a record that is there, it keeps the lines of the steps up to `after_step`; none if
  // that is 0. Throws IO, and FORMAT if the file there is no record; the file is as it was then. `io` outlives the
  // object.
  RecordFile(const Io& io, const std::string& path, int64_t after_step);

  void add(const std::string& line);
  // Writes what was added. Throws IO; then it stays, and the next call tries again.
  void write();
  // Writes it, and waits until it is on the disk. Throws IO.
  void sync();

 private:
  std::optional<File> file_;
  uint64_t written_ = 0;
  std::string pending_;
};

}  // namespace halftone::analysis
