#include "options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "hardware.h"
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
constexpr NamedDtype kDtypes[] = {
    {"fp32", HTONE_F32}, {"bf16", HTONE_BF16}, {"fp16", HTONE_F16}, {"e4m3", HTONE_F8E4M3}};
struct NamedCommand {
  std::string_view name;
  Command command;
};
constexpr NamedCommand kCommands[] = {{"formats", Command::kFormats}, {"sum", Command::kSum},
                                      {"file", Command::kFile},       {"log", Command::kLog},
                                      {"shapes", Command::kShapes},   {"advice", Command::kAdvice}};
constexpr int64_t kMostElements = 1'000'000'000;
constexpr double kLeastScale = 0x1p-62;
constexpr double kLargestScale = 0x1p62;
constexpr const char* kSizes[] = {"M", "N", "K"};
constexpr int64_t kLargestSize = 1 << 16;
constexpr int64_t kLargestMatrix = 1 << 26;

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
    if (options_.command == Command::kFile || options_.command == Command::kLog) finish_file();
    if (options_.command == Command::kShapes) finish_shapes();
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
    } else if (!take_flag(flag)) {
      refuse("there is no option " + std::string(flag));
    }
  }

  bool take_flag(std::string_view flag) {
    switch (options_.command) {
      case Command::kFormats:
        return false;
      case Command::kSum:
        return take_of_sum(flag);
      case Command::kFile:
        return take_of_file(flag);
      case Command::kLog:
        return take_of_log(flag);
      case Command::kShapes:
        return take_of_shapes(flag);
      case Command::kAdvice:
        return take_of_advice(flag);
    }
    return false;
  }

  std::string_view value() {
    if (equals_ != std::string_view::npos) return text_.substr(equals_ + 1);
    if (argv_ == end_) refuse(std::string(text_) + " needs a value");
    return *argv_++;
  }

  void take_operand() {
    if (options_.command == Command::kFile || options_.command == Command::kLog) return take_file();
    if (options_.command == Command::kShapes) return take_size();
    refuse("the argument " + std::string(text_) + " is not an option");
  }

  void take_file() {
    if (!options_.path.empty()) refuse("FILE " + std::string(text_) + ": expected one file");
    if (text_.empty()) refuse("FILE is an empty text");
    options_.path = text_;
  }

  void take_size() {
    if (options_.sizes.size() == std::size(kSizes))
      refuse("the argument " + std::string(text_) + " is after M, N and K");
    options_.sizes.push_back(whole_number(kSizes[options_.sizes.size()], text_, 1, kLargestSize));
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

  bool take_of_log(std::string_view flag) {
    if (flag != "--scale") return take_of_file(flag);
    const std::string_view text = value();
    const double scale = finite_number(flag, text);
    if (scale < kLeastScale || scale > kLargestScale) refuse(flag, text, "2^-62 to 2^62");
    options_.scales.push_back(scale);
    return true;
  }

  void finish_file() {
    if (options_.path.empty()) refuse("FILE is missing");
    if (!options_.formats.empty()) return;
    for (const std::string_view name : {"fp16", "bf16", "e4m3", "e5m2"}) {
      options_.formats.push_back(named("--format", name, kFormats));
    }
  }

  bool take_of_shapes(std::string_view flag) {
    if (flag != "--dtype") return false;
    options_.dtype = named(flag, value(), kDtypes);
    return true;
  }

  void finish_shapes() {
    const std::vector<int64_t>& sizes = options_.sizes;
    if (sizes.size() < std::size(kSizes)) refuse(std::string(kSizes[sizes.size()]) + " is missing");
    if (std::max({sizes[0] * sizes[1], sizes[0] * sizes[2], sizes[1] * sizes[2]}) > kLargestMatrix) {
      refuse("M, N and K give a matrix of more than " + std::to_string(kLargestMatrix) + " elements");
    }
    if (options_.dtype == nullptr) options_.dtype = &kDtypes[0];
  }

  bool take_of_advice(std::string_view flag) {
    if (flag != "--device") return false;
    const std::string_view name = value();
    std::string names = "this";
    bool is_known = name == "this";
    for (const Hardware& hardware : all_hardware()) {
      is_known = is_known || hardware.name == name;
      names.append(", ").append(hardware.name);
    }
    if (!is_known) refuse(flag, name, "one of " + names);
    options_.device = name;
    return true;
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
