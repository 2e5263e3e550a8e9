// halftone-analyze: shows what formats of few digits do to numbers. It uses the C API alone.
#include <cstdio>
#include <exception>

#include "commands.h"

namespace halftone_analyze {
namespace {

std::string run(const Options& options) {
  switch (options.command) {
    case Command::kFormats:
      return formats(options);
    case Command::kSum:
      return sum(options);
    case Command::kFile:
      return file(options);
    case Command::kLog:
      return log(options);
    case Command::kShapes:
      return shapes(options);
    case Command::kAdvice:
      return advice(options);
  }
  return {};
}

}  // namespace
}  // namespace halftone_analyze

int main(int argc, char** argv) {
  try {
    const std::string output = halftone_analyze::run(halftone_analyze::parse(argc, argv));
    const bool is_written = std::fputs(output.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    if (!is_written) std::fputs("halftone-analyze: cannot write the output\n", stderr);
    return is_written ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halftone-analyze: %s\n", error.what());
    return 1;
  }
}
