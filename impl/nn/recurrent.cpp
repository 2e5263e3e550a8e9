#include "nn/recurrent.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "nn/init.h"
#include "nn/part_copies.h"
#include "ops/ops.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

Tensor leaf_of(const Ref<Parameter>& parameter) { return parameter ? parameter->leaf() : Tensor(); }

// The states of one kind, one for each cell, as [cells, batch, hidden].
template <class Member>
Tensor stacked(const std::vector<ops::CellState>& states, Member member) {
  std::vector<Tensor> parts;
  for (const ops::CellState& state : states) parts.push_back(state.*member);
  return ops::stack(parts, 0);
}

// Slices of size 1 along a dimension, without it.
std::vector<Tensor> unstacked(const Tensor& tensor, int dim) {
  const auto count = static_cast<size_t>(tensor.size(dim));
  std::vector<Tensor> parts = ops::split(tensor, dim, std::vector<int64_t>(count, 1));
  for (Tensor& part : parts) part = ops::squeeze(part, {dim});
  return parts;
}

}  // namespace

Recurrent::Recurrent(ContextDevice& device, const RecurrentOptions& options) : options_(options) {
  for (int layer = 0; layer < options.num_layers; ++layer) {
    for (int direction = 0; direction < directions(); ++direction) {
      cells_.push_back(make_cell(device, layer, direction == 1));
    }
  }
}

Recurrent::Cell Recurrent::make_cell(ContextDevice& device, int64_t layer, bool is_reverse) const {
  const int64_t hidden = options_.hidden_size;
  const int64_t rows = (is_lstm() ? ops::kLstmGates : ops::kGruGates) * hidden;
  const int64_t in = layer == 0 ? options_.input_size : directions() * hidden;
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  Cell cell;
  cell.suffix = "_l" + std::to_string(layer);
  if (is_reverse) cell.suffix += "_reverse";
  const auto make = [&](const char* name, const Shape& shape) {
    const std::string full_name = std::string(name).append(cell.suffix);
    return uniform_parameter(device, full_name.c_str(), options_.dtype, shape, bound);
  };
  cell.input_weight = make("weight_ih", {rows, in});
  cell.hidden_weight = make("weight_hh", {rows, hidden});
  if (!options_.bias) return cell;
  cell.input_bias = make("bias_ih", {rows});
  cell.hidden_bias = make("bias_hh", {rows});
  return cell;
}

ops::CellWeights Recurrent::Cell::leaves() const {
  return {.input_weight = leaf_of(input_weight),
          .hidden_weight = leaf_of(hidden_weight),
          .input_bias = leaf_of(input_bias),
          .hidden_bias = leaf_of(hidden_bias)};
}

Ref<Parameter>* Recurrent::parameter_place(std::string_view name) noexcept {
  for (Cell& cell : cells_) {
    if (!name.ends_with(cell.suffix)) continue;
    const std::string_view lead = name.substr(0, name.size() - cell.suffix.size());
    if (lead == "weight_ih") return &cell.input_weight;
    if (lead == "weight_hh") return &cell.hidden_weight;
    if (lead == "bias_ih") return &cell.input_bias;
    if (lead == "bias_hh") return &cell.hidden_bias;
  }
  return nullptr;
}

void Recurrent::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  for (const Cell& cell : cells_) {
    out.push_back({prefix + "weight_ih" + cell.suffix, cell.input_weight});
    out.push_back({prefix + "weight_hh" + cell.suffix, cell.hidden_weight});
    if (!cell.input_bias) continue;
    out.push_back({prefix + "bias_ih" + cell.suffix, cell.input_bias});
    out.push_back({prefix + "bias_hh" + cell.suffix, cell.hidden_bias});
  }
}

Ref<Module> Recurrent::copied(PartCopies& parts) const {
  Ref<Recurrent> made = make_ref<Recurrent>(*this);
  for (Cell& cell : made->cells_) {
    for (Ref<Parameter>* parameter : {&cell.input_weight, &cell.hidden_weight, &cell.input_bias, &cell.hidden_bias}) {
      *parameter = parts.parameter(*parameter);
    }
  }
  return made;
}

void Recurrent::require_input(const Tensor& input) const {
  if (input.rank() != 3 || input.size(2) != options_.input_size) {
    fail(Code::kShapeMismatch, "input", "input %s, expected [batch, time, %lld]", ShapeText(input.shape()).text,
         static_cast<long long>(options_.input_size));
  }
  if (input.size(1) == 0) {
    fail(Code::kShapeMismatch, "input", "input %s has no step", ShapeText(input.shape()).text);
  }
}

void Recurrent::require_state(const Tensor& state, const Tensor& input, const char* argument) const {
  const Shape expected = {static_cast<int64_t>(cells_.size()), input.size(0), options_.hidden_size};
  if (state.shape() == expected) return;
  fail(Code::kShapeMismatch, argument, "%s %s, expected %s", argument, ShapeText(state.shape()).text,
       ShapeText(expected).text);
}

// One state for each cell.
std::vector<ops::CellState> Recurrent::initial_states(const Tensor& input, const RecurrentState& state) const {
  std::vector<ops::CellState> states(cells_.size());
  const auto fill_states = [&](const Tensor& given, Tensor ops::CellState::*member, const char* argument) {
    if (given.defined()) {
      require_state(given, input, argument);
      const std::vector<Tensor> parts = unstacked(given, 0);
      for (size_t i = 0; i < states.size(); ++i) states[i].*member = parts[i];
    } else {
      const Tensor zeros = full(input.device(), input.dtype(), {input.size(0), options_.hidden_size}, 0.0);
      for (ops::CellState& each : states) each.*member = zeros;
    }
  };
  fill_states(state.hidden, &ops::CellState::hidden, "hidden");
  if (is_lstm()) fill_states(state.cell, &ops::CellState::cell, "cell");
  return states;
}

// The products with the input are computed for all steps at once.
Recurrent::CellResult Recurrent::run_cell(const Cell& cell, const Tensor& input, ops::CellState state,
                                          bool is_reverse) const {
  const ops::CellWeights weights = cell.leaves();
  const std::vector<Tensor> gates = unstacked(ops::input_gates(input, weights), 1);
  std::vector<Tensor> outputs(gates.size());
  for (size_t step = 0; step < gates.size(); ++step) {
    const size_t i = is_reverse ? gates.size() - 1 - step : step;
    state = is_lstm() ? ops::lstm_step(gates[i], state, weights) : ops::gru_step(gates[i], state, weights);
    outputs[i] = state.hidden;
  }
  return {.output = ops::stack(outputs, 1), .state = std::move(state)};
}

Recurrent::Result Recurrent::apply(const Tensor& input, const RecurrentState& state) const {
  require_input(input);
  std::vector<ops::CellState> states = initial_states(input, state);
  Tensor output = input;
  for (size_t first = 0; first < cells_.size(); first += static_cast<size_t>(directions())) {
    if (first > 0) output = ops::dropout(output, options_.dropout, is_training());
    std::vector<Tensor> outputs;
    for (size_t i = first; i < first + static_cast<size_t>(directions()); ++i) {
      CellResult result = run_cell(cells_[i], output, states[i], i != first);
      outputs.push_back(std::move(result.output));
      states[i] = std::move(result.state);
    }
    output = outputs.size() == 1 ? outputs[0] : ops::cat(outputs, 2);
  }
  Result result = {.output = output, .state = {.hidden = stacked(states, &ops::CellState::hidden), .cell = {}}};
  if (is_lstm()) result.state.cell = stacked(states, &ops::CellState::cell);
  return result;
}

Arity Recurrent::arity() const noexcept {
  const size_t states = is_lstm() ? 2 : 1;
  return {.required_inputs = 1, .inputs = 1 + states, .outputs = 1 + states};
}

void Recurrent::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  Result result = apply(inputs[0], {.hidden = inputs[1], .cell = is_lstm() ? inputs[2] : Tensor()});
  outputs[0] = std::move(result.output);
  outputs[1] = std::move(result.state.hidden);
  if (is_lstm()) outputs[2] = std::move(result.state.cell);
}

}  // namespace halftone::nn
