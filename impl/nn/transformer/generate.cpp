#include "nn/transformer/generate.h"

#include "autograd/scope.h"
#include "core/error.h"
#include "core/philox.h"
#include "nn/transformer/next_logits.h"
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
  const LeftPadding padding = options.mask.defined() ? LeftPadding(options.mask, tokens) : LeftPadding();
  NextLogits next_logits(model, options.context, padding);
  std::vector<char> has_ended(rows, 0);
  std::vector<int64_t> next(rows);
  for (int64_t step = 0; step < options.new_tokens && rows > 0; ++step) {
    const std::vector<double> logits = next_logits.after(all);
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
