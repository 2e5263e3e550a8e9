#include "nn/transformer/generate.h"

#include <algorithm>

#include "autograd/scope.h"
#include "core/error.h"
#include "core/philox.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

void require_prompt(const Tensor& tokens) {
  if (tokens.dtype() != DType::kI64 && tokens.dtype() != DType::kI32) {
    fail(Code::kDtypeMismatch, "tokens", "tokens are %s, expected i64 or i32", name_of(tokens.dtype()));
  }
  if (tokens.rank() == 2 && tokens.size(1) > 0) return;
  fail(Code::kShapeMismatch, "tokens", "tokens %s, expected [batch, time] with at least one token a row",
       ShapeText(tokens.shape()).text);
}

// Logits of the last position, [batch, vocabulary] in row-major order.
std::vector<double> last_logits(const Module& model, const Tensor& tokens, int64_t context) {
  const int64_t time = tokens.size(1);
  const int64_t begin = context == 0 ? 0 : std::max<int64_t>(0, time - context);
  const Tensor logits = model.run(begin == 0 ? tokens : ops::slice(tokens, 1, begin, time, 1));
  if (logits.rank() != 3 || logits.size(0) != tokens.size(0) || logits.size(1) < 1 || logits.size(2) < 1) {
    fail(Code::kShapeMismatch, "module", "module returned %s, expected logits [batch, time, vocabulary]",
         ShapeText(logits.shape()).text);
  }
  const Tensor last = ops::slice(logits, 1, logits.size(1) - 1, logits.size(1), 1);
  std::vector<double> values(static_cast<size_t>(last.numel()));
  if (!values.empty()) read_to_host(last, DType::kF64, values.data());
  return values;
}

// One number for each row and step, whatever the batch draws besides.
double uniform_of(uint64_t seed, int64_t row, int64_t step) {
  const PhiloxBlock block = philox({.seed = seed, .sequence = static_cast<uint64_t>(row)}, static_cast<uint64_t>(step));
  const uint64_t bits = (static_cast<uint64_t>(block[0]) << 21) ^ (block[1] >> 11);
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

Tensor generate(const Module& model, const Tensor& tokens, const GenerateOptions& options) {
  require_prompt(tokens);
  const ScopeGuard restore;
  scope().grad_enabled = false;
  const auto rows = static_cast<size_t>(tokens.size(0));
  Tensor all = converted(tokens, DType::kI64);
  std::vector<char> has_ended(rows, 0);
  std::vector<int64_t> next(rows);
  for (int64_t step = 0; step < options.new_tokens && rows > 0; ++step) {
    const std::vector<double> logits = last_logits(model, all, options.context);
    const std::span<const double> values(logits);
    const size_t vocabulary = logits.size() / rows;
    for (size_t row = 0; row < rows; ++row) {
      next[row] = has_ended[row] ? options.end_token
                                 : sampled_token(values.subspan(row * vocabulary, vocabulary), options.sampling,
                                                 uniform_of(options.seed, static_cast<int64_t>(row), step));
      if (next[row] == options.end_token) has_ended[row] = 1;
    }
    const Tensor column = empty(tokens.device(), DType::kI64, {tokens.size(0), 1});
    write_from_host(column, DType::kI64, next.data());
    all = ops::cat({all, column}, 1);
  }
  return all;
}

}  // namespace halftone::nn
