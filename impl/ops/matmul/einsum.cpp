// Einstein's summation over two operands as one matmul: every label is of one of four kinds, and each operand is
// permuted so that labels of one kind stand together and merge into one dimension,
//   a [batch, rows, contracted] times b [batch, contracted, columns] = out [batch, rows, columns].
#include <algorithm>
#include <cctype>
#include <string>

#include "core/error.h"
#include "ops/autocast.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace halftone::ops {

namespace {

struct Equation {
  std::string a, b, out;  // labels, one for each dimension
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

class EquationParser {
 public:
  explicit EquationParser(const char* text) : text_(text) {}

  Equation parse() {
    std::string* term = &result_.a;
    bool has_result = false;
    for (; text_[at_] != '\0'; ++at_) {
      const char c = text_[at_];
      if (c == ' ') continue;
      if (c == ',') {
        if (term != &result_.a) fail_here("a comma here, expected one between two operands");
        term = &result_.b;
      } else if (c == '-' && text_[at_ + 1] == '>') {
        if (term != &result_.b) fail_here("an arrow here, expected one behind two operands");
        term = &result_.out;
        has_result = true;
        ++at_;
      } else {
        add_label(*term, c, has_result);
      }
    }
    if (term == &result_.a) fail_here("one operand, expected two with a comma between them");
    if (!has_result) result_.out = implied_result();
    return result_;
  }

 private:
  void add_label(std::string& term, char c, bool in_result) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) fail_here("no label here, expected a letter");
    if (has(term, c)) fail_here("a label here that its operand has already; diagonals are not taken");
    if (in_result && !has(result_.a, c) && !has(result_.b, c)) fail_here("a label here that no operand has");
    term.push_back(c);
  }

  // Labels of one operand alone, in alphabetical order, upper case first.
  std::string implied_result() const {
    std::string labels;
    for (char c : result_.a + result_.b) {
      if (has(result_.a, c) != has(result_.b, c)) labels.push_back(c);
    }
    std::sort(labels.begin(), labels.end());
    return labels;
  }

  [[noreturn]] void fail_here(const char* what) const {
    fail(Code::kInvalidArgument, "equation", "equation \"%.100s\" has at position %d %s", text_, at_, what);
  }

  const char* text_;
  int at_ = 0;
  Equation result_;
};

void require_rank(const Tensor& tensor, const char* argument, const std::string& labels) {
  if (static_cast<size_t>(tensor.rank()) == labels.size()) return;
  fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, equation names %zu: %.60s", argument,
       ShapeText(tensor.shape()).text, tensor.rank(), labels.size(), labels.c_str());
}

int64_t size_of_label(const Tensor& tensor, const std::string& labels, char label) {
  return tensor.size(static_cast<int>(labels.find(label)));
}

void require_operands(const Equation& equation, const Tensor& a, const Tensor& b) {
  require_float(a, "a");
  require_same_dtype(a, "a", b, "b");
  require_same_device(a, "a", b, "b");
  require_rank(a, "a", equation.a);
  require_rank(b, "b", equation.b);
  if (equation.out.size() > kMaxRank) {
    fail(Code::kInvalidArgument, "equation", "equation names %zu dimensions of the result, expected at most %d",
         equation.out.size(), kMaxRank);
  }
  for (char label : equation.a) {
    if (!has(equation.b, label)) continue;
    const int64_t in_a = size_of_label(a, equation.a, label);
    const int64_t in_b = size_of_label(b, equation.b, label);
    if (in_a == in_b) continue;
    fail(Code::kShapeMismatch, "b", "label '%c' is %lld in a %s and %lld in b %s", label, static_cast<long long>(in_a),
         ShapeText(a.shape()).text, static_cast<long long>(in_b), ShapeText(b.shape()).text);
  }
}

// One operand on its way to the product.
struct Operand {
  Tensor tensor;
  std::string labels;

  // Sums over the labels that stand neither in `other` nor in `out`.
  void drop_lonely(const std::string& other, const std::string& out) {
    Shape dims;
    std::string kept;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (has(other, labels[i]) || has(out, labels[i])) {
        kept.push_back(labels[i]);
      } else {
        dims.push_back(static_cast<int64_t>(i));
      }
    }
    if (dims.rank() == 0) return;
    tensor = sum(tensor, dims, false);
    labels = kept;
  }

  // REQUIRES: `order` has the same labels.
  void permute_to(const std::string& order) {
    if (order == labels) return;
    Shape dims;
    for (char label : order) dims.push_back(static_cast<int64_t>(labels.find(label)));
    tensor = permute(tensor, dims);
    labels = order;
  }

  int64_t count(const std::string& of) const {
    int64_t product = 1;
    for (char label : of) product *= size_of_label(tensor, labels, label);
    return product;
  }
};

// Labels of `from` that stand in `other` and in `out`, or do not.
std::string choose(const std::string& from, const std::string& other, bool in_other, const std::string& out,
                   bool in_out) {
  std::string chosen;
  for (char label : from) {
    if (has(other, label) == in_other && has(out, label) == in_out) chosen.push_back(label);
  }
  return chosen;
}

Tensor contract(Operand a, Operand b, const std::string& out) {
  const std::string batch = choose(a.labels, b.labels, true, out, true);
  const std::string contracted = choose(a.labels, b.labels, true, out, false);
  const std::string rows = choose(a.labels, b.labels, false, out, true);
  const std::string columns = choose(b.labels, a.labels, false, out, true);
  a.permute_to(batch + rows + contracted);
  b.permute_to(batch + contracted + columns);
  Shape left = {a.count(rows), a.count(contracted)};
  Shape right = {b.count(contracted), b.count(columns)};
  if (!batch.empty()) {
    left = {a.count(batch), left[0], left[1]};
    right = {a.count(batch), right[0], right[1]};
  }
  Shape shape;
  for (char label : batch + rows) shape.push_back(size_of_label(a.tensor, a.labels, label));
  for (char label : columns) shape.push_back(size_of_label(b.tensor, b.labels, label));
  const Tensor product = matmul(reshape(a.tensor, left), reshape(b.tensor, right));
  Operand result = {.tensor = reshape(product, shape), .labels = batch + rows + columns};
  result.permute_to(out);
  return result.tensor;
}

}  // namespace

Tensor einsum(const char* equation, const Tensor& a, const Tensor& b) {
  if (under_autocast()) {
    const auto multiply = [&](const Tensor& x, const Tensor& y) { return einsum(equation, x, y); };
    return autocast(Op::kEinsum, multiply, a, b);
  }
  const Equation parsed = EquationParser(equation).parse();
  require_operands(parsed, a, b);
  Operand left = {.tensor = a, .labels = parsed.a};
  Operand right = {.tensor = b, .labels = parsed.b};
  left.drop_lonely(parsed.b, parsed.out);
  right.drop_lonely(parsed.a, parsed.out);
  return contract(std::move(left), std::move(right), parsed.out);
}

}  // namespace halftone::ops
