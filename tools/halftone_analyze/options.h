// The command line of halftone-analyze, and the names of formats and methods there.
#pragma once

#include <halftone/analysis.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone_analyze {

enum class Command { kFormats, kSum, kFile, kLog, kShapes, kAdvice };

struct NamedFormat {
  std::string_view name;
  htone_format format;
};
struct NamedMethod {
  std::string_view name;
  htone_sum_method method;
};
struct NamedDtype {
  std::string_view name;
  htone_dtype dtype;
};
std::span<const NamedFormat> all_formats();

struct Options {
  Command command = Command::kFormats;
  bool json = false;
  // For kSum alone.
  const NamedFormat* format = nullptr;
  const NamedMethod* method = nullptr;
  double value = 0;
  int64_t count = 0;
  // For kFile and kLog.
  std::string path;
  std::string pattern = "*";  // of names, as a shell has them for files
  std::vector<const NamedFormat*> formats;
  std::vector<double> scales;  // for kLog alone; empty: the one of the record
  // For kShapes alone.
  std::vector<int64_t> sizes;  // M, N, K
  const NamedDtype* dtype = nullptr;
  // For kAdvice alone: a name of the table of hardware or "this"; empty for all.
  std::string_view device;
};

// Prints the usage and exits for --help and --version; prints what is wrong and exits with 2.
Options parse(int argc, char** argv);

}  // namespace halftone_analyze
