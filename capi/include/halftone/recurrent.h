/** @file
 * Recurrent layers and cells: LSTM and GRU, with the formulas, names and layouts of PyTorch. They are composed of
 * operations that are recorded one by one: htone_linear, htone_sigmoid, htone_tanh, htone_add and htone_mul.
 *
 * @code
 * const int64_t steps[] = {2, 1, 3}; // time, batch, features
 * htone_module* lstm;
 * htone_tensor *hidden, *cell;
 * check(htone_reshape(x, 3, steps, &y));
 * check(htone_module_create_lstm(device, 3, 4, NULL, &lstm));
 * check(htone_module_forward_lstm(lstm, y, NULL, NULL, &y, &hidden, &cell)); // [2, 1, 4]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 8);
 * @endcode
 */
#ifndef HALFTONE_RECURRENT_H
#define HALFTONE_RECURRENT_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of LSTM and GRU layers. */
typedef struct htone_recurrent_options {
  uint32_t struct_size;  /**< sizeof of this structure */
  int32_t bias;          /**< not 0: every gate has two biases; default 1 */
  int32_t num_layers;    /**< layers on top of each other, 1 to 64; default 1 */
  int32_t bidirectional; /**< not 0: a second cell in each layer runs from the last step to the first; default 0 */
  double dropout;        /**< of the output of every layer but the last, in training; in [0, 1]; default 0 */
  htone_dtype dtype;     /**< of the parameters: HTONE_F32 (default), HTONE_F64, HTONE_F16, HTONE_BF16 */
  uint32_t reserved;     /**< 0 */
} htone_recurrent_options;

/** The defaults, to initialize a htone_recurrent_options where it is declared. */
#define HTONE_RECURRENT_OPTIONS_INIT \
  { sizeof(htone_recurrent_options), 1, 1, 0, 0.0, HTONE_F32, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_recurrent_options_init(htone_recurrent_options* options);

/** Makes an LSTM over sequences. htone_module_forward takes an input [batch, time, input_size], begins with states of
 * zeros, and returns [batch, time, hidden_size], or 2 hidden_size where it is bidirectional: at each step the forward
 * cell's output, then that of the reverse one. The parameters of layer k are weight_ih_lk [4 hidden_size, in],
 * weight_hh_lk [4 hidden_size, hidden_size], bias_ih_lk and bias_hh_lk [4 hidden_size], those of its reverse cell have
 * the ending _reverse; the gates are in the order input, forget, cell, output. All begin as uniform numbers in
 * [-1/sqrt(hidden_size), 1/sqrt(hidden_size)).
 *
 * @param[in] device borrowed.
 * @param[in] input_size features of a step; at least 1.
 * @param[in] hidden_size of the state; at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Hochreiter and Schmidhuber, Neural Computation 9, 1997; torch.nn.LSTM with batch_first.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_lstm(htone_device* device, int64_t input_size, int64_t hidden_size,
                                                const htone_recurrent_options* options, htone_module** out);

/** Makes a GRU over sequences: as htone_module_create_lstm, with three gates in the order reset, update, new.
 *
 * @param[in] device borrowed.
 * @param[in] input_size features of a step; at least 1.
 * @param[in] hidden_size of the state; at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Cho et al., arXiv:1406.1078; torch.nn.GRU with batch_first.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_gru(htone_device* device, int64_t input_size, int64_t hidden_size,
                                               const htone_recurrent_options* options, htone_module** out);

/** Runs an LSTM from given states, and returns those after the last step: htone_module_forward_n
 * with a name for each tensor.
 *
 * @param[in] module of htone_module_create_lstm; borrowed.
 * @param[in] input [batch, time, input_size], dtype of the parameters; at least one step; borrowed.
 * @param[in] hidden optional; [cells, batch, hidden_size]; NULL means zeros. The cells are those of layer 0, then of
 *   layer 1 and so on, a layer's reverse cell behind its forward one; borrowed.
 * @param[in] cell optional; as hidden; borrowed.
 * @param[out] out [batch, time, hidden_size or 2 hidden_size]: of the last layer; owned by the caller.
 * @param[out] out_hidden as hidden; owned by the caller.
 * @param[out] out_cell as cell; owned by the caller.
 * @autocast as the operations that it is composed of.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of module), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @source torch.nn.LSTM with batch_first.
 * @since 0.1
 */
HTONE_API htone_status htone_module_forward_lstm(htone_module* module, htone_tensor* input, htone_tensor* hidden,
                                                 htone_tensor* cell, htone_tensor** out, htone_tensor** out_hidden,
                                                 htone_tensor** out_cell);

/** Runs a GRU from a given state, and returns that after the last step: htone_module_forward_n
 * with a name for each tensor.
 *
 * @param[in] module of htone_module_create_gru; borrowed.
 * @param[in] input [batch, time, input_size], dtype of the parameters; at least one step; borrowed.
 * @param[in] hidden optional; as of htone_module_forward_lstm; borrowed.
 * @param[out] out [batch, time, hidden_size or 2 hidden_size]: of the last layer; owned by the caller.
 * @param[out] out_hidden as hidden; owned by the caller.
 * @autocast as the operations that it is composed of.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of module), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @source torch.nn.GRU with batch_first.
 * @since 0.1
 */
HTONE_API htone_status htone_module_forward_gru(htone_module* module, htone_tensor* input, htone_tensor* hidden,
                                                htone_tensor** out, htone_tensor** out_hidden);

/** Computes one step of an LSTM. With i, f, g, o the four blocks of input weight_ih^T + bias_ih + hidden weight_hh^T +
 * bias_hh: out_cell = sigmoid(f) cell + sigmoid(i) tanh(g), out_hidden = sigmoid(o) tanh(out_cell).
 *
 * @param[in] input [batch, in], float; borrowed.
 * @param[in] hidden [batch, hidden]; borrowed.
 * @param[in] cell [batch, hidden]; borrowed.
 * @param[in] weight_ih [4 hidden, in], dtype of input; borrowed.
 * @param[in] weight_hh [4 hidden, hidden], dtype of hidden; borrowed.
 * @param[in] bias_ih optional; [4 hidden]; borrowed.
 * @param[in] bias_hh optional; [4 hidden]; borrowed.
 * @param[out] out_hidden [batch, hidden]; owned by the caller.
 * @param[out] out_cell [batch, hidden]; owned by the caller.
 * @autocast as the operations that it is composed of.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as the operations that it is composed of; each of them rounds to the dtype.
 * @source torch.nn.LSTMCell.
 * @since 0.1
 */
HTONE_API htone_status htone_lstm_cell(htone_tensor* input, htone_tensor* hidden, htone_tensor* cell,
                                       htone_tensor* weight_ih, htone_tensor* weight_hh, htone_tensor* bias_ih,
                                       htone_tensor* bias_hh, htone_tensor** out_hidden, htone_tensor** out_cell);

/** Computes one step of a GRU. With r, z, n the three blocks of input weight_ih^T + bias_ih, and R, Z, N those of
 * hidden weight_hh^T + bias_hh: m = tanh(n + sigmoid(r + R) N), out = m + sigmoid(z + Z) (hidden - m).
 *
 * @param[in] input [batch, in], float; borrowed.
 * @param[in] hidden [batch, hidden]; borrowed.
 * @param[in] weight_ih [3 hidden, in], dtype of input; borrowed.
 * @param[in] weight_hh [3 hidden, hidden], dtype of hidden; borrowed.
 * @param[in] bias_ih optional; [3 hidden]; borrowed.
 * @param[in] bias_hh optional; [3 hidden]; borrowed.
 * @param[out] out [batch, hidden]; owned by the caller.
 * @autocast as the operations that it is composed of.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as the operations that it is composed of; each of them rounds to the dtype.
 * @source torch.nn.GRUCell.
 * @since 0.1
 */
HTONE_API htone_status htone_gru_cell(htone_tensor* input, htone_tensor* hidden, htone_tensor* weight_ih,
                                      htone_tensor* weight_hh, htone_tensor* bias_ih, htone_tensor* bias_hh,
                                      htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
