#include "ops/recurrent/cells.h"

#include <cinttypes>
#include <vector>

#include "core/error.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

std::vector<Tensor> split_gates(const Tensor& gates, int64_t count) {
  return split(gates, 1, std::vector<int64_t>(static_cast<size_t>(count), gates.size(1) / count));
}

Tensor hidden_gates(const Tensor& hidden, const CellWeights& weights) {
  return linear(hidden, weights.hidden_weight, weights.hidden_bias);
}

void require_shape(const Tensor& tensor, const char* argument, const Shape& expected) {
  if (tensor.shape() == expected) return;
  fail(Code::kShapeMismatch, argument, "%s %s, expected %s", argument, ShapeText(tensor.shape()).text,
       ShapeText(expected).text);
}

void require_matrix(const Tensor& tensor, const char* argument) {
  if (tensor.rank() == 2) return;
  fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, expected 2", argument, ShapeText(tensor.shape()).text,
       tensor.rank());
}

void require_cell(const Tensor& input, const CellState& state, const CellWeights& weights, int64_t gates) {
  require_matrix(input, "input");
  require_matrix(state.hidden, "hidden");
  const int64_t batch = input.size(0), hidden = state.hidden.size(1);
  require_shape(state.hidden, "hidden", {batch, hidden});
  if (state.cell.defined()) require_shape(state.cell, "cell", {batch, hidden});
  require_shape(weights.input_weight, "weight_ih", {gates * hidden, input.size(1)});
  require_shape(weights.hidden_weight, "weight_hh", {gates * hidden, hidden});
  if (weights.input_bias.defined()) require_shape(weights.input_bias, "bias_ih", {gates * hidden});
  if (weights.hidden_bias.defined()) require_shape(weights.hidden_bias, "bias_hh", {gates * hidden});
}

}  // namespace

Tensor input_gates(const Tensor& input, const CellWeights& weights) {
  return linear(input, weights.input_weight, weights.input_bias);
}

CellState lstm_step(const Tensor& gates, const CellState& state, const CellWeights& weights) {
  const std::vector<Tensor> gate = split_gates(add(gates, hidden_gates(state.hidden, weights)), kLstmGates);
  const Tensor kept = mul(sigmoid(gate[1]), state.cell);
  const Tensor cell = add(kept, mul(sigmoid(gate[0]), tanh(gate[2])));
  return {.hidden = mul(sigmoid(gate[3]), tanh(cell)), .cell = cell};
}

// The reset gate acts on the hidden part of the new gate after its product, as in PyTorch and cuDNN. (1 - z) n + z h is
// computed as n + z (h - n).
CellState gru_step(const Tensor& gates, const CellState& state, const CellWeights& weights) {
  const std::vector<Tensor> of_input = split_gates(gates, kGruGates);
  const std::vector<Tensor> of_hidden = split_gates(hidden_gates(state.hidden, weights), kGruGates);
  const Tensor reset = sigmoid(add(of_input[0], of_hidden[0]));
  const Tensor update = sigmoid(add(of_input[1], of_hidden[1]));
  const Tensor fresh = tanh(add(of_input[2], mul(reset, of_hidden[2])));
  return {.hidden = add(fresh, mul(update, sub(state.hidden, fresh))), .cell = {}};
}

CellState lstm_cell(const Tensor& input, const CellState& state, const CellWeights& weights) {
  require_cell(input, state, weights, kLstmGates);
  return lstm_step(input_gates(input, weights), state, weights);
}

CellState gru_cell(const Tensor& input, const CellState& state, const CellWeights& weights) {
  require_cell(input, state, weights, kGruGates);
  return gru_step(input_gates(input, weights), state, weights);
}

}  // namespace halftone::ops
