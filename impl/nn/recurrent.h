// LSTM and GRU layers over sequences: [batch, time, features]. Parameters have PyTorch's names, shapes and order, so
// that its state dicts fit.
#pragma once

#include <vector>

#include "nn/module.h"
#include "ops/recurrent/cells.h"

namespace halftone::nn {

enum class CellKind { kLstm, kGru };

struct RecurrentOptions {
  CellKind cell = CellKind::kLstm;
  int64_t input_size = 0;
  int64_t hidden_size = 0;
  int num_layers = 1;
  bool bias = true;
  bool bidirectional = false;
  double dropout = 0.0;  // of the output of every layer but the last, in training
  DType dtype = DType::kF32;
};

// The states of all layers, [layers * directions, batch, hidden]: those of one layer are side by side. `cell` is
// undefined for a GRU.
using RecurrentState = ops::CellState;

class Recurrent final : public Module {
 public:
  // Draws all parameters from U(-1/sqrt(hidden), 1/sqrt(hidden)), PyTorch's default, each from a sequence of its own.
  Recurrent(ContextDevice& device, const RecurrentOptions& options);

  const char* kind() const noexcept override { return is_lstm() ? "lstm" : "gru"; }
  // (input[, hidden[, cell]]) to (output, hidden, cell); no cell for a GRU. Absent states are zeros.
  Arity arity() const noexcept override;
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  Ref<Module> copied(PartCopies& parts) const override;

  bool is_lstm() const noexcept { return options_.cell == CellKind::kLstm; }

 private:
  struct Result {
    Tensor output;         // [batch, time, directions * hidden]: of the last layer
    RecurrentState state;  // after the last step
  };
  // The parameters of one layer in one direction; the biases are null without bias.
  struct Cell {
    std::string suffix;  // of the names: "_l0_reverse"
    Ref<Parameter> input_weight, hidden_weight, input_bias, hidden_bias;

    ops::CellWeights leaves() const;
  };
  // The outputs of one cell over all steps, [batch, time, hidden], and its last state.
  struct CellResult {
    Tensor output;
    ops::CellState state;
  };

  Ref<Parameter>* parameter_place(std::string_view name) noexcept override;
  int directions() const noexcept { return options_.bidirectional ? 2 : 1; }
  Cell make_cell(ContextDevice& device, int64_t layer, bool is_reverse) const;
  void require_input(const Tensor& input) const;
  void require_state(const Tensor& state, const Tensor& input, const char* argument) const;
  std::vector<ops::CellState> initial_states(const Tensor& input, const RecurrentState& state) const;
  // From a state; undefined tensors in it are zeros. Throws SHAPE_MISMATCH naming "input", "hidden" or "cell".
  Result apply(const Tensor& input, const RecurrentState& state) const;
  CellResult run_cell(const Cell& cell, const Tensor& input, ops::CellState state, bool is_reverse) const;

  RecurrentOptions options_;
  std::vector<Cell> cells_;  // layer by layer, the reverse direction behind the forward one
};

}  // namespace halftone::nn
