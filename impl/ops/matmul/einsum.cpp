// Einstein summation. A label that an operand has twice first becomes one dimension, the diagonal. For one operand the
// rest is a sum and a permutation; for two it is one matmul: every label is of one of
// four kinds, and each operand is permuted so that the labels of a kind are adjacent and merge into one dimension,
//   a [batch, rows, contracted] times b [batch, contracted, columns] = out [batch, rows, columns].
#include <cctype>
#include <string>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/matmul/diagonal.h"
#include "ops/matmul/equation.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

int64_t size_of_label(const Tensor& tensor, const std::string& labels, char label) {
  return tensor.size(static_cast<int>(labels.find(label)));
}

// An operand while it is prepared for the product.
struct Operand {
  Tensor tensor;
  std::string labels;

  // Replaces the dimensions of a label that occurs more than once by their diagonal. `argument` is the operand's name.
  void take_diagonals(const char* argument) {
    const Shape whole = tensor.shape();
    for (size_t i = 0; i < labels.size();) {
      const size_t first = labels.find(labels[i]);
      if (first == i) {
        ++i;
        continue;
      }
      const int kept = static_cast<int>(first), dropped = static_cast<int>(i);
      if (tensor.size(kept) != tensor.size(dropped)) {
        fail(Code::kShapeMismatch, argument, "label '%c' is %lld and %lld in %s %s", labels[i],
             static_cast<long long>(tensor.size(kept)), static_cast<long long>(tensor.size(dropped)), argument,
             ShapeText(whole).text);
      }
      tensor = diagonal(tensor, kept, dropped);
      labels.erase(i, 1);
    }
  }

  // Removes labels whose size is 1 here and larger in `other`: the product repeats this operand over them.
  void drop_repeated(const Operand& other) {
    Shape dims;
    std::string kept;
    for (size_t i = 0; i < labels.size(); ++i) {
      const bool repeats = tensor.size(static_cast<int>(i)) == 1 && has_label(other.labels, labels[i]) &&
                           size_of_label(other.tensor, other.labels, labels[i]) != 1;
      if (repeats) {
        dims.push_back(static_cast<int64_t>(i));
      } else {
        kept.push_back(labels[i]);
      }
    }
    if (dims.rank() == 0) return;
    tensor = squeeze(tensor, dims);
    labels = kept;
  }

  // Removes the labels that are neither in `other` nor in `out`, and returns their dimensions, for the tensor to be
  // summed over.
  Shape take_lonely(const std::string& other, const std::string& out) {
    Shape dims;
    std::string kept;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (has_label(other, labels[i]) || has_label(out, labels[i])) {
        kept.push_back(labels[i]);
      } else {
        dims.push_back(static_cast<int64_t>(i));
      }
    }
    labels = kept;
    return dims;
  }

  // Sums over those labels. The operands of a product were cast before, so autocast has no part in the sum.
  void drop_lonely(const std::string& other, const std::string& out) {
    const Shape dims = take_lonely(other, out);
    if (dims.rank() > 0) tensor = sum_in(tensor.dtype(), tensor, dims, false);
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

// The labels of `from` that are in `other` if `in_other` (else not in it), and likewise for `out`.
std::string choose(const std::string& from, const std::string& other, bool in_other, const std::string& out,
                   bool in_out) {
  std::string chosen;
  for (char label : from) {
    if (has_label(other, label) == in_other && has_label(out, label) == in_out) chosen.push_back(label);
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
  const Tensor product = matrix_product(reshape(a.tensor, left), reshape(b.tensor, right));
  Operand result = {.tensor = reshape(product, shape), .labels = batch + rows + columns};
  result.permute_to(out);
  return result.tensor;
}

void require_sizes(const Operand& a, const Operand& b) {
  for (char label : a.labels) {
    if (!has_label(b.labels, label)) continue;
    const int64_t in_a = size_of_label(a.tensor, a.labels, label);
    const int64_t in_b = size_of_label(b.tensor, b.labels, label);
    if (in_a == in_b || in_a == 1 || in_b == 1) continue;
    const std::string name = std::isdigit(static_cast<unsigned char>(label)) != 0
                                 ? "dimension " + std::string(1, label) + " from the end of \"...\""
                                 : std::string("label '") + label + "'";
    fail(Code::kShapeMismatch, "b", "%s is %lld in a %s and %lld in b %s", name.c_str(), static_cast<long long>(in_a),
         ShapeText(a.tensor.shape()).text, static_cast<long long>(in_b), ShapeText(b.tensor.shape()).text);
  }
}

Tensor sum_one(const char* equation, const Tensor& a) {
  require_float(a, "a");
  const Equation parsed = read_equation(equation, a.shape(), nullptr);
  Operand operand = {.tensor = a, .labels = parsed.a};
  operand.take_diagonals("a");
  const Shape dims = operand.take_lonely("", parsed.out);
  if (dims.rank() > 0) operand.tensor = sum(operand.tensor, dims, false);
  operand.permute_to(parsed.out);
  return operand.tensor;
}

}  // namespace

Tensor einsum(const char* equation, const Tensor& given_a, const Tensor& given_b) {
  if (!given_b.defined()) return sum_one(equation, given_a);
  const auto [a, b] = autocast_operands(Op::kEinsum, given_a, given_b);
  require_float(a, "a");
  require_same_dtype(a, "a", b, "b");
  require_same_device(a, "a", b, "b");
  const Equation parsed = read_equation(equation, a.shape(), &b.shape());
  Operand left = {.tensor = a, .labels = parsed.a};
  Operand right = {.tensor = b, .labels = parsed.b};
  left.take_diagonals("a");
  right.take_diagonals("b");
  require_sizes(left, right);
  left.drop_repeated(right);
  right.drop_repeated(left);
  left.drop_lonely(right.labels, parsed.out);
  right.drop_lonely(left.labels, parsed.out);
  return contract(std::move(left), std::move(right), parsed.out);
}

}  // namespace halftone::ops
