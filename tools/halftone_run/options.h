// The command line of halftone-run.
#pragma once

#include <string>
#include <vector>

namespace halftone_run {

struct Options {
  int local_size = 0;      // processes on this machine
  int machines = 1;        // that take part, each with as many processes
  int machine = 0;         // this one's number
  std::string rendezvous;  // "address:port" of the store, which the first machine serves; with several machines
  std::string group;       // kind of group; empty until parse() chooses one
  double grace_seconds = 10;
  bool prefixes = true;
  std::vector<std::string> command;
};

// Prints the usage and exits for --help and --version; prints what is wrong and exits with 2.
Options parse(int argc, char** argv);

}  // namespace halftone_run
