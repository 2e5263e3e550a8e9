// halftone-analyze: shows what formats of few digits do to numbers. It uses the C API alone.
#include <cstdio>
#include <exception>

#include "commands.h"

int main(int argc, char** argv) {
  const halftone_analyze::Options options = halftone_analyze::parse(argc, argv);
  try {
    const std::string output = options.command == halftone_analyze::Command::kSum ? halftone_analyze::sum(options)
                                                                                  : halftone_analyze::formats(options);
    const bool is_written = std::fputs(output.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    if (!is_written) std::fputs("halftone-analyze: cannot write the output\n", stderr);
    return is_written ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halftone-analyze: %s\n", error.what());
    return 1;
  }
}
