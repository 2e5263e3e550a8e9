#include "ops/matmul/equation.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/error.h"

namespace halftone {

namespace {

// Stands for "..." until the operands' shapes give its dimensions.
constexpr char kCover = '.';

class EquationParser {
 public:
  explicit EquationParser(const char* text) : text_(text) {}

  Equation parse() {
    term_ = &result_.a;
    for (; text_[at_] != '\0'; ++at_) read_character();
    if (term_ != &result_.out) result_.out = implied_result();
    return result_;
  }

 private:
  void read_character() {
    const char c = text_[at_];
    if (c == ' ') return;
    if (c == ',') {
      if (term_ != &result_.a) fail_here("unexpected comma; there are at most two operands");
      term_ = &result_.b;
      result_.has_b = true;
    } else if (std::strncmp(text_ + at_, "->", 2) == 0) {
      if (term_ == &result_.out) fail_here("second arrow");
      term_ = &result_.out;
      ++at_;
    } else if (std::strncmp(text_ + at_, "...", 3) == 0) {
      if (has_label(*term_, kCover)) fail_here("second \"...\"");
      term_->push_back(kCover);
      at_ += 2;
    } else {
      add_label(c);
    }
  }

  void add_label(char c) {
    const bool in_result = term_ == &result_.out;
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      fail_here("not a label; expected a letter or \"...\"");
    }
    if (in_result && has_label(*term_, c)) fail_here("the result already has this label");
    if (in_result && !has_label(result_.a, c) && !has_label(result_.b, c)) {
      fail_here("no operand has this label");
    }
    term_->push_back(c);
  }

  // The result without an arrow: the dimensions of "...", then the labels that occur once, in alphabetical order, upper
  // case first.
  std::string implied_result() const {
    const std::string all = result_.a + result_.b;
    std::string labels;
    for (char c : all) {
      if (c != kCover && std::count(all.begin(), all.end(), c) == 1) labels.push_back(c);
    }
    std::sort(labels.begin(), labels.end());
    const bool covers = has_label(result_.a, kCover) || has_label(result_.b, kCover);
    return (covers ? std::string(1, kCover) : std::string()) + labels;
  }

  [[noreturn]] void fail_here(const char* what) const {
    fail(Code::kInvalidArgument, "equation", "equation \"%.100s\", position %d: %s", text_, at_, what);
  }

  const char* text_;
  int at_ = 0;
  std::string* term_ = nullptr;
  Equation result_;
};

// Replaces the mark of "..." by digits: "...ij" with `count` 2 becomes "10ij".
void uncover(std::string& labels, int count) {
  const size_t at = labels.find(kCover);
  if (at == std::string::npos) return;
  std::string digits;
  for (int i = count - 1; i >= 0; --i) digits.push_back(static_cast<char>('0' + i));
  labels.replace(at, 1, digits);
}

// The number of dimensions that "..." covers.
int covered(const std::string& labels, const Shape& shape, const char* argument) {
  const int named = static_cast<int>(std::count_if(labels.begin(), labels.end(), [](char c) { return c != kCover; }));
  const bool covers = has_label(labels, kCover);
  if (covers ? shape.rank() < named : shape.rank() != named) {
    fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, equation names %s%d", argument,
         ShapeText(shape).text, shape.rank(), covers ? "at least " : "", named);
  }
  return shape.rank() - named;
}

}  // namespace

Equation read_equation(const char* text, const Shape& a, const Shape* b) {
  Equation equation = EquationParser(text).parse();
  if (equation.has_b != (b != nullptr)) {
    fail(Code::kInvalidArgument, "equation", "equation \"%.100s\" has %s, but b is %s", text,
         equation.has_b ? "two operands" : "one operand", b == nullptr ? "NULL" : "given");
  }
  const int under_a = covered(equation.a, a, "a");
  const int under_b = b == nullptr ? 0 : covered(equation.b, *b, "b");
  uncover(equation.a, under_a);
  uncover(equation.b, under_b);
  uncover(equation.out, std::max(under_a, under_b));
  if (equation.out.size() > kMaxRank) {
    fail(Code::kInvalidArgument, "equation", "equation names %zu dimensions of the result, expected at most %d",
         equation.out.size(), kMaxRank);
  }
  return equation;
}

}  // namespace halftone
