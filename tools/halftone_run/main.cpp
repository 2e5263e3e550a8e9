// halftone-run: starts a program as the ranks of one run on this machine. It does not link the library.
#include <cstdio>
#include <exception>

#include "run.h"

int main(int argc, char** argv) {
  const halftone_run::Options options = halftone_run::parse(argc, argv);
  try {
    halftone_run::Run run(options);
    return run.wait();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halftone-run: %s\n", error.what());
    return 1;
  }
}
