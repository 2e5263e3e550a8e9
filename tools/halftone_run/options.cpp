#include "options.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace halftone_run {
namespace {

constexpr int kMaxProcesses = 4096;

constexpr const char* kUsage =
    "usage: halftone-run -n PROCESSES [options] PROGRAM [ARGUMENT...]\n"
    "\n"
    "Starts PROGRAM several times, as the ranks of one run, and waits for all of them. A program finds its place with\n"
    "htone_launch_read, and the group of all ranks with htone_group_create_launched. If a process fails, the others "
    "are\n"
    "stopped. Ends with the status of the first process that failed, 128 and the signal's number for a signal, else "
    "0.\n"
    "\n"
    "  -n, --processes N        processes on this machine\n"
    "  --nnodes N               machines that take part, each with N processes; default 1\n"
    "  --node-rank K            this machine's number, 0 to N-1; default 0\n"
    "  --rendezvous MACHINE:PORT\n"
    "                           with several machines: an address of machine 0. The variable HALFTONE_SECRET must\n"
    "                           hold one text on all machines.\n"
    "  --group KIND             shared_memory or gloo; default: the variable HALFTONE_GROUP; without it shared_memory\n"
    "                           on one machine, gloo on several\n"
    "  --grace SECONDS          time for the others to end by themselves before they are killed; default 10\n"
    "  --no-prefix              do not write [rank] before each line of output\n"
    "  --help, --version\n"
    "\n"
    "Each process gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, HALFTONE_GROUP, the place of the store, and,\n"
    "unless it is set, HALFTONE_NUM_THREADS: its share of this machine's processors.\n";

[[noreturn]] void refuse(const char* format, const char* value) {
  std::fputs("halftone-run: ", stderr);
  std::fprintf(stderr, format, value);
  std::fputs("\nhalftone-run: try halftone-run --help\n", stderr);
  std::exit(2);
}

template <class Number>
Number number_in(const char* option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    const std::string told = std::string(option) + " " + std::string(text);
    refuse("%s: not a number that the option takes", told.c_str());
  }
  return value;
}

// Walks over the arguments; "--name=value" and "--name value" are the same.
class Arguments {
 public:
  Arguments(int argc, char** argv) : argv_(argv + 1), end_(argv + argc) {}

  bool at_option() const { return argv_ != end_ && (*argv_)[0] == '-' && (*argv_)[1] != '\0' && !is_separator(); }
  void skip_separator() {
    if (argv_ != end_ && is_separator()) ++argv_;
  }
  std::string_view take_name() {
    const std::string_view text = *argv_++;
    const size_t equals = text.starts_with("--") ? text.find('=') : std::string_view::npos;
    if (equals != std::string_view::npos) value_ = text.data() + equals + 1;
    return text.substr(0, equals);
  }
  const char* take_value(std::string_view name) {
    if (const char* value = value_) {
      value_ = nullptr;
      return value;
    }
    if (argv_ == end_) refuse("%s needs a value", std::string(name).c_str());
    return *argv_++;
  }
  bool has_unused_value() const { return value_ != nullptr; }
  std::vector<std::string> rest() const { return {argv_, end_}; }

 private:
  bool is_separator() const { return std::strcmp(*argv_, "--") == 0; }

  char** argv_;
  char** end_;
  const char* value_ = nullptr;  // of "--name=value"
};

[[noreturn]] void print_and_exit(const char* text) {
  std::fputs(text, stdout);
  std::exit(std::fflush(stdout) == 0 ? 0 : 1);
}

void take_option(Arguments& arguments, Options& options) {
  const std::string name(arguments.take_name());
  const auto number = [&](int least, int most) {
    return number_in(name.c_str(), arguments.take_value(name), least, most);
  };
  if (name == "-n" || name == "--processes") {
    options.local_size = number(1, kMaxProcesses);
  } else if (name == "--nnodes") {
    options.machines = number(1, kMaxProcesses);
  } else if (name == "--node-rank") {
    options.machine = number(0, kMaxProcesses);
  } else if (name == "--rendezvous") {
    options.rendezvous = arguments.take_value(name);
  } else if (name == "--group") {
    options.group = arguments.take_value(name);
  } else if (name == "--grace") {
    options.grace_seconds = number_in(name.c_str(), arguments.take_value(name), 0.0, 1e6);
  } else if (name == "--no-prefix") {
    options.prefixes = false;
  } else if (name == "--help" || name == "-h") {
    print_and_exit(kUsage);
  } else if (name == "--version") {
    print_and_exit("halftone-run " HALFTONE_VERSION "\n");
  } else {
    refuse("there is no option %s", name.c_str());
  }
  if (arguments.has_unused_value()) refuse("%s takes no value", name.c_str());
}

void check(const Options& options) {
  if (options.local_size == 0) refuse("%s is missing: how many processes?", "-n");
  if (options.command.empty()) refuse("%s is missing", "the program");
  if (options.machine >= options.machines) refuse("%s must be less than --nnodes", "--node-rank");
  if (options.machines == 1) return;
  if (options.rendezvous.rfind(':') == std::string::npos) refuse("%s needs --rendezvous MACHINE:PORT", "--nnodes");
  if (options.group == "shared_memory") refuse("the group %s is for one machine", "shared_memory");
  const char* secret = secure_getenv("HALFTONE_SECRET");
  if (secret == nullptr || *secret == '\0') refuse("set %s to one text on all machines", "HALFTONE_SECRET");
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  Arguments arguments(argc, argv);
  while (arguments.at_option()) take_option(arguments, options);
  arguments.skip_separator();
  options.command = arguments.rest();
  const char* group = secure_getenv("HALFTONE_GROUP");
  if (options.group.empty() && group != nullptr) options.group = group;
  check(options);
  if (options.group.empty()) options.group = options.machines == 1 ? "shared_memory" : "gloo";
  return options;
}

}  // namespace halftone_run
