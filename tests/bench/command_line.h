// The command-line arguments of a benchmark. If an argument was not used before finish() is called, the program prints
// its usage and exits with status 2.
#pragma once

#include <string>
#include <vector>

namespace halftone {

class CommandLine {
 public:
  // `usage` names the program and its options.
  CommandLine(int argc, char** argv, const char* usage);

  // The value after `option`, from 1 to `most`; `otherwise` if the option is missing.
  int number(const char* option, int otherwise, int most);
  std::string text(const char* option);
  bool flag(const char* option);
  void finish() const;

 private:
  [[noreturn]] void refuse() const;

  std::vector<std::string> words_;
  const char* usage_;
};

enum { kMostThreads = 256, kMostRounds = 1000000 };

}  // namespace halftone
