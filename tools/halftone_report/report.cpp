#include "report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "page/page.h"
#include "record/reader.h"

namespace halftone_report {
namespace {

// The page is complete or not there: it is written beside its place and renamed.
void write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (file != nullptr && std::fclose(file) != 0) is_written = false, error = errno;
  if (is_written && std::rename(beside.c_str(), path.c_str()) != 0) is_written = false, error = errno;
  if (is_written) return;
  if (file != nullptr) std::remove(beside.c_str());
  throw std::runtime_error("-o " + path + ": " + std::strerror(error));
}

void write_output(const std::string& text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!is_written) throw std::runtime_error("cannot write the output");
}

}  // namespace

void report(const Options& options) {
  std::vector<Run> runs;
  for (const std::string& path : options.paths) runs.push_back(read_run(path));
  const std::string page = page_of(runs);
  if (options.output == "-") return write_output(page);
  write_file(options.output, page);
}

}  // namespace halftone_report
