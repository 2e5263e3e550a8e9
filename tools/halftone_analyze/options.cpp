#include "options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "usage.h"
#include "values.h"

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
struct NamedCommand {
  std::string_view name;
  Command command;
};
constexpr NamedCommand kCommands[] = {{"formats", Command::kFormats}, {"sum", Command::kSum}, {"file", Command::kFile}};
constexpr int64_t kMostElements = 1'000'000'000;

[[noreturn]] void print_and_exit(const char* text) {
  std::fputs(text, stdout);
  std::exit(std::fflush(stdout) == 0 ? 0 : 1);
}

// Takes the arguments after the command one by one; "--name=value" and "--name value" are the same.
class Parser {
 public:
  Parser(int argc, char** argv) : argv_(argv + 1), end_(argv + argc) {}

  Options parse() {
    take_command();
    while (argv_ != end_) take_argument();
    if (options_.command == Command::kSum) finish_sum();
    if (options_.command == Command::kFile) finish_file();
    return options_;
  }

 private:
  void take_command() {
    std::string names;
    for (const NamedCommand& one : kCommands) names += (names.empty() ? "" : ", ") + std::string(one.name);
    if (argv_ == end_) refuse("a command is missing: one of " + names);
    const std::string_view text = *argv_++;
    take_information(text);
    const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                     [&](const NamedCommand& one) { return one.name == text; });
    if (found == std::end(kCommands)) refuse("there is no command " + std::string(text) + ": expected one of " + names);
    options_.command = found->command;
  }

  static void take_information(std::string_view flag) {
    if (flag == "--help" || flag == "-h") print_and_exit(kUsage);
    if (flag == "--version") print_and_exit("halftone-analyze " HALFTONE_VERSION "\n");
  }

  void take_argument() {
    text_ = *argv_++;
    equals_ = text_.find('=');
    const std::string_view flag = text_.substr(0, equals_);
    take_information(text_);
    if (text_ == "--json") {
      options_.json = true;
    } else if (flag == "--json") {
      refuse("--json takes no value");
    } else if (!text_.starts_with('-')) {
      take_operand();
    } else if (!(options_.command == Command::kSum && take_of_sum(flag)) &&
               !(options_.command == Command::kFile && take_of_file(flag))) {
      refuse("there is no option " + std::string(flag));
    }
  }

  std::string_view value() {
    if (equals_ != std::string_view::npos) return text_.substr(equals_ + 1);
    if (argv_ == end_) refuse(std::string(text_) + " needs a value");
    return *argv_++;
  }

  void take_operand() {
    if (options_.command != Command::kFile) refuse("the argument " + std::string(text_) + " is not an option");
    if (!options_.path.empty()) refuse("FILE " + std::string(text_) + ": expected one file");
    if (text_.empty()) refuse("FILE is an empty text");
    options_.path = text_;
  }

  bool take_of_sum(std::string_view flag) {
    if (flag == "--format") {
      options_.format = named(flag, value(), kFormats);
    } else if (flag == "--method") {
      options_.method = named(flag, value(), kMethods);
    } else if (flag == "--value") {
      options_.value = finite_number(flag, value());
      has_value_ = true;
    } else if (flag == "--count") {
      options_.count = whole_number(flag, value(), 0, kMostElements);
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

  bool take_of_file(std::string_view flag) {
    if (flag == "--format") {
      const NamedFormat* format = named(flag, value(), kFormats);
      const auto& all = options_.formats;
      if (std::find(all.begin(), all.end(), format) == all.end()) options_.formats.push_back(format);
    } else if (flag == "--tensor") {
      options_.pattern = value();
    } else {
      return false;
    }
    return true;
  }

  void finish_file() {
    if (options_.path.empty()) refuse("FILE is missing");
    if (!options_.formats.empty()) return;
    for (const std::string_view name : {"fp16", "bf16", "e4m3", "e5m2"}) {
      options_.formats.push_back(named("--format", name, kFormats));
    }
  }

  char** argv_;
  char** end_;
  std::string_view text_;  // the argument that is taken
  size_t equals_ = 0;      // the place of the = in it
  Options options_;
  bool has_value_ = false;
  bool has_count_ = false;
};

}  // namespace

std::span<const NamedFormat> all_formats() { return kFormats; }

Options parse(int argc, char** argv) { return Parser(argc, argv).parse(); }

}  // namespace halftone_analyze
