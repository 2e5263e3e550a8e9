// One step of recurrent layers, composed of recorded operations. capi/include/halftone/recurrent.h documents the
// formulas.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

// The gates' weights in PyTorch's layout, one block of rows for each gate: [gates * hidden, in], [gates * hidden,
// hidden], and two biases [gates * hidden], which may be undefined.
struct CellWeights {
  Tensor input_weight;
  Tensor hidden_weight;
  Tensor input_bias;
  Tensor hidden_bias;
};

// [batch, hidden] each. `cell` is undefined for a GRU.
struct CellState {
  Tensor hidden;
  Tensor cell;
};

// Input, forget, cell and output gate; reset, update and new gate.
inline constexpr int64_t kLstmGates = 4;
inline constexpr int64_t kGruGates = 3;

// The part of the gates that comes from the input, for all steps of a layer at once: [..., gates * hidden].
Tensor input_gates(const Tensor& input, const CellWeights& weights);
// `gates` is input_gates of the step, [batch, gates * hidden].
CellState lstm_step(const Tensor& gates, const CellState& state, const CellWeights& weights);
CellState gru_step(const Tensor& gates, const CellState& state, const CellWeights& weights);

// Whole cells. Throw SHAPE_MISMATCH naming the C API's argument.
CellState lstm_cell(const Tensor& input, const CellState& state, const CellWeights& weights);
CellState gru_cell(const Tensor& input, const CellState& state, const CellWeights& weights);

}  // namespace halftone::ops
