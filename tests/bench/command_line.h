// The words that a benchmark was started with. What was not asked for when finish() is called ends the program with its
// usage, exit status 2.
#pragma once

#include <string>
#include <vector>

namespace halftone {

class CommandLine {
 public:
  // `usage` names the program and its options.
  CommandLine(int argc, char** argv, const char* usage);

  // The value behind `option`, from 1 to `most`; `otherwise` where the option is not there.
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
