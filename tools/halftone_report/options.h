// The command line of halftone-report.
#pragma once

#include <string>
#include <vector>

namespace halftone_report {

struct Options {
  std::vector<std::string> paths;
  std::string output;
  bool follows = false;
  bool once = false;  // prints a summary instead of following
};

// Prints the usage and exits for --help and --version; prints what is wrong and exits with 2.
Options parse(int argc, char** argv);

}  // namespace halftone_report
