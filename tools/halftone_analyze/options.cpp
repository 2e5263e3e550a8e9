#include "options.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace halftone_analyze {
namespace {

constexpr NamedFormat kFormats[] = {
    {"fp64", HTONE_FORMAT_F64},  {"fp32", HTONE_FORMAT_F32},  {"tf32", HTONE_FORMAT_TF32}, {"fp16", HTONE_FORMAT_F16},
    {"bf16", HTONE_FORMAT_BF16}, {"e4m3", HTONE_FORMAT_E4M3}, {"e5m2", HTONE_FORMAT_E5M2}, {"e2m1", HTONE_FORMAT_E2M1}};
constexpr NamedMethod kMethods[] = {{"naive", HTONE_SUM_NAIVE},
                                    {"pairwise", HTONE_SUM_PAIRWISE},
                                    {"kahan", HTONE_SUM_KAHAN},
                                    {"neumaier", HTONE_SUM_NEUMAIER},
                                    {"exact", HTONE_SUM_EXACT}};
constexpr int64_t kMostElements = 1'000'000'000;

constexpr const char* kUsage =
    "usage: halftone-analyze formats [--json]\n"
    "       halftone-analyze sum --format FORMAT --value NUMBER --count N [--method METHOD] [--json]\n"
    "\n"
    "Shows what formats of few digits do to numbers.\n"
    "\n"
    "formats prints the range and the digits of each format, and the relative errors of rounding to it, for numbers "
    "of\n"
    "five ranges. sum adds one number many times, as the arithmetic of a format does.\n"
    "\n"
    "  --format FORMAT    fp64, fp32, tf32, fp16, bf16, e4m3, e5m2 or e2m1\n"
    "  --method METHOD    naive, pairwise, kahan, neumaier or exact; default naive\n"
    "  --value NUMBER     the number that is added\n"
    "  --count N          how many times, 0 to 1000000000; each takes 8 bytes of memory\n"
    "  --json             print one object in JSON; a number that is not finite is null\n"
    "  --help, --version\n";

[[noreturn]] void refuse(const std::string& problem) {
  std::fprintf(stderr, "halftone-analyze: %s\nhalftone-analyze: try halftone-analyze --help\n", problem.c_str());
  std::exit(2);
}

[[noreturn]] void print_and_exit(const char* text) {
  std::fputs(text, stdout);
  std::exit(std::fflush(stdout) == 0 ? 0 : 1);
}

template <class Named, size_t count>
const Named* named(const char* flag, std::string_view text, const Named (&all)[count]) {
  std::string names;
  for (const Named& one : all) {
    if (one.name == text) return &one;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  refuse(std::string(flag) + " " + std::string(text) + ": expected one of " + names);
}

template <class Number>
Number number(const char* flag, std::string_view text, const char* expected) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  refuse(std::string(flag) + " " + std::string(text) + ": expected " + expected);
}

// Takes the arguments after the command one by one; "--name=value" and "--name value" are the same.
class Parser {
 public:
  Parser(int argc, char** argv) : argv_(argv + 1), end_(argv + argc) {}

  Options parse() {
    if (argv_ == end_) refuse("a command is missing: formats or sum");
    const std::string_view command = *argv_++;
    take_information(command);
    if (command == "sum") {
      options_.command = Command::kSum;
    } else if (command != "formats") {
      refuse("there is no command " + std::string(command));
    }
    while (argv_ != end_) take_flag();
    if (options_.command == Command::kSum) finish_sum();
    return options_;
  }

 private:
  static void take_information(std::string_view flag) {
    if (flag == "--help" || flag == "-h") print_and_exit(kUsage);
    if (flag == "--version") print_and_exit("halftone-analyze " HALFTONE_VERSION "\n");
  }

  void take_flag() {
    const std::string_view text = *argv_++;
    const size_t equals = text.find('=');
    const std::string_view flag = text.substr(0, equals);
    take_information(text);
    if (text == "--json") {
      options_.json = true;
      return;
    }
    if (flag == "--json") refuse("--json takes no value");
    if (options_.command != Command::kSum || !take_of_sum(flag, text, equals)) {
      refuse("there is no option " + std::string(flag));
    }
  }

  bool take_of_sum(std::string_view flag, std::string_view text, size_t equals) {
    const auto value = [&] {
      if (equals != std::string_view::npos) return text.substr(equals + 1);
      if (argv_ == end_) refuse(std::string(flag) + " needs a value");
      return std::string_view(*argv_++);
    };
    if (flag == "--format") {
      options_.format = named("--format", value(), kFormats);
    } else if (flag == "--method") {
      options_.method = named("--method", value(), kMethods);
    } else if (flag == "--value") {
      const std::string_view given = value();
      options_.value = number<double>("--value", given, "a finite number");
      if (!std::isfinite(options_.value)) refuse("--value " + std::string(given) + ": expected a finite number");
      has_value_ = true;
    } else if (flag == "--count") {
      const std::string_view given = value();
      options_.count = number<int64_t>("--count", given, "a whole number");
      if (options_.count < 0 || options_.count > kMostElements) {
        refuse("--count " + std::string(given) + ": expected 0 to " + std::to_string(kMostElements));
      }
      has_count_ = true;
    } else {
      return false;
    }
    return true;
  }

  void finish_sum() {
    if (options_.format == nullptr) refuse("--format is missing");
    if (!has_value_) refuse("--value is missing");
    if (!has_count_) refuse("--count is missing");
    if (options_.method == nullptr) options_.method = &kMethods[0];
  }

  char** argv_;
  char** end_;
  Options options_;
  bool has_value_ = false;
  bool has_count_ = false;
};

}  // namespace

std::span<const NamedFormat> all_formats() { return kFormats; }

Options parse(int argc, char** argv) { return Parser(argc, argv).parse(); }

}  // namespace halftone_analyze
