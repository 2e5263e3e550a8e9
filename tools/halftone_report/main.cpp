// halftone-report: shows the record of a training run, as a page of HTML or in a terminal.
#include <cstdio>
#include <exception>

#include "draw/markup.h"
#include "follow.h"
#include "report.h"

int main(int argc, char** argv) {
  using namespace halftone_report;
  try {
    const Options options = parse(argc, argv);
    if (options.follows || options.once) {
      follow(options);
    } else {
      report(options);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halftone-report: %s\n", printable(error.what()).c_str());
    return 1;
  }
}
