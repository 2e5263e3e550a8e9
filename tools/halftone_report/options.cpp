#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "draw/markup.h"
#include "usage.h"

namespace halftone_report {
namespace {

[[noreturn]] void print_and_exit(const char* text) {
  std::fputs(text, stdout);
  std::exit(std::fflush(stdout) == 0 ? 0 : 1);
}

[[noreturn]] void refuse(const std::string& problem) {
  std::fprintf(stderr, "halftone-report: %s\nhalftone-report: try halftone-report --help\n",
               printable(problem).c_str());
  std::exit(2);
}

// Takes the arguments one by one; "--name=value" and "--name value" are the same. After -- all are records.
class Parser {
 public:
  Parser(int argc, char** argv) : argv_(argv + 1), end_(argv + argc) {}

  Options parse() {
    while (argv_ != end_) take_argument();
    check();
    return options_;
  }

 private:
  void take_argument() {
    text_ = *argv_++;
    const bool is_record = has_records_only_ || text_ == "-" || !text_.starts_with('-');
    if (is_record) return take_record();
    const size_t equals = text_.find('=');
    const std::string_view flag = text_.substr(0, equals);
    if (flag == "-o" || flag == "--output") return take_output(equals);
    if (equals != std::string_view::npos && (flag == "--follow" || flag == "--once")) {
      refuse(std::string(flag) + " takes no value");
    }
    take_flag(flag);
  }

  void take_flag(std::string_view flag) {
    if (text_ == "--help" || text_ == "-h") print_and_exit(kUsage);
    if (text_ == "--version") print_and_exit("halftone-report " HALFTONE_VERSION "\n");
    if (text_ == "--") {
      has_records_only_ = true;
    } else if (text_ == "--follow") {
      options_.follows = true;
    } else if (text_ == "--once") {
      options_.once = true;
    } else {
      refuse("there is no option " + std::string(flag));
    }
  }

  void take_record() {
    if (text_.empty()) refuse("RECORD is an empty text");
    options_.paths.emplace_back(text_);
  }

  void take_output(size_t equals) {
    if (!options_.output.empty()) refuse(std::string(text_) + ": expected one output");
    if (equals == std::string_view::npos && argv_ == end_) refuse(std::string(text_) + " needs a value");
    options_.output = equals == std::string_view::npos ? *argv_++ : std::string(text_.substr(equals + 1));
    if (options_.output.empty()) refuse("-o is an empty text");
  }

  void check() const {
    const bool is_summary = options_.follows || options_.once;
    if (options_.paths.empty()) refuse("RECORD is missing");
    if (is_summary && !options_.output.empty()) refuse("-o writes a page: expected no --follow and no --once");
    if (is_summary && options_.paths.size() > 1) refuse("RECORD " + options_.paths[1] + ": expected one record");
    if (!is_summary && options_.output.empty()) refuse("-o is missing");
  }

  char** argv_;
  char** end_;
  std::string_view text_;  // the argument that is taken
  bool has_records_only_ = false;
  Options options_;
};

}  // namespace

Options parse(int argc, char** argv) { return Parser(argc, argv).parse(); }

}  // namespace halftone_report
