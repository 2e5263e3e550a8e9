#include "follow.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "record/reader.h"
#include "summary.h"

namespace halftone_report {
namespace {

constexpr int kWaitMilliseconds = 500;
constexpr const char* kClearScreen = "\033[H\033[J";

bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;  // the next one decides
    const std::string_view text = value;
    return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
  }
  return false;
}

Screen screen_now() {
  Screen screen;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) screen = {size.ws_col, size.ws_row};
  screen.has_utf8 = has_utf8();
  return screen;
}

// Waits a moment. Without events of its own, poll reports only that a file is closed. Returns false then.
bool wait() {
  pollfd files[] = {{STDIN_FILENO, 0, 0}, {STDOUT_FILENO, 0, 0}};
  return poll(files, 2, kWaitMilliseconds) <= 0;
}

// Returns false where the reader of a pipe has gone.
bool print(const std::string& text, bool clears) {
  if (clears) std::fputs(kClearScreen, stdout);
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

}  // namespace

void follow(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  Reader reader(options.paths[0], Samples::kNewest);
  reader.read();
  if (options.once) {
    if (!print(summary_of(reader.run(), screen_now()), false)) throw std::runtime_error("cannot write the output");
    return;
  }
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  bool is_open = print(summary_of(reader.run(), screen_now()), is_terminal);
  while (is_open && wait()) {
    if (!reader.read()) continue;
    std::string text = is_terminal ? "" : "\n";
    is_open = print(text.append(summary_of(reader.run(), screen_now())), is_terminal);
  }
}

}  // namespace halftone_report
