// Copies what processes print, line by line, so that the lines of several processes do not mix.
#pragma once

#include <string>
#include <string_view>

namespace halftone_run {

class LineWriter {
 public:
  // Writes to the file descriptor, `prefix` before each line.
  LineWriter(int file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  // A line ends with a line feed, or a carriage return, which progress bars use; or at 64 KiB.
  void write(std::string_view text);
  // Writes a last line that has no end.
  void finish();

 private:
  void put(std::string_view line);

  int file_;
  std::string prefix_;
  std::string line_;  // which has not ended yet
};

}  // namespace halftone_run
