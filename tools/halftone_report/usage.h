// The text of halftone-report --help.
#pragma once

namespace halftone_report {

constexpr const char* kUsage =
    "usage: halftone-report RECORD... -o FILE\n"
    "       halftone-report --follow RECORD\n"
    "       halftone-report --once RECORD\n"
    "\n"
    "Shows the record of a training run, which is a file of JSON lines. The first form writes a page of HTML with "
    "charts\n"
    "of all runs: loss, loss scale, skipped steps, norms, times, memory, and what formats of few digits do to the "
    "tensors.\n"
    "The second prints a summary in a terminal, again whenever the file grows, until Ctrl-C ends it. The third prints "
    "the\n"
    "summary once.\n"
    "\n"
    "  -o FILE, --output FILE    where the page is written; - is the standard output\n"
    "  --follow, --once\n"
    "  --help, --version\n";

}  // namespace halftone_report
