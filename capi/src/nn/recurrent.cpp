#include "halftone/recurrent.h"

#include <array>

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/recurrent.h"
#include "ops/recurrent/cells.h"
#include "runtime/handles.h"
#include "tensor/handles.h"
#include "tensor/results.h"
#include "tensor/weight_dtype.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

constexpr int32_t kMostLayers = 64;

nn::RecurrentOptions recurrent_options(const htone_recurrent_options* options) {
  const htone_recurrent_options given =
      options_or_default(options, htone_recurrent_options(HTONE_RECURRENT_OPTIONS_INIT));
  checked_weight_dtype(given.dtype, "options", "options.dtype");
  if (given.num_layers < 1 || given.num_layers > kMostLayers) {
    fail(Code::kInvalidArgument, "options", "options.num_layers=%d is outside [1, %d]", given.num_layers, kMostLayers);
  }
  if (!(given.dropout >= 0.0 && given.dropout <= 1.0)) {
    fail(Code::kInvalidArgument, "options", "options.dropout=%g, expected a number in [0, 1]", given.dropout);
  }
  return {.num_layers = given.num_layers,
          .bias = given.bias != 0,
          .bidirectional = given.bidirectional != 0,
          .dropout = given.dropout,
          .dtype = static_cast<DType>(given.dtype)};
}

struct RecurrentSizes {
  int64_t input;
  int64_t hidden;
};

// The largest weights are [4 hidden, 2 hidden] and [4 hidden, input], and must be countable in bytes.
RecurrentSizes recurrent_sizes(int64_t input_size, int64_t hidden_size) {
  positive(input_size, "input_size");
  positive(hidden_size, "hidden_size");
  const bool input_is_larger = input_size > hidden_size;
  int64_t bytes = static_cast<int64_t>(sizeof(double)) * ops::kLstmGates * 2;
  if (__builtin_mul_overflow(bytes, hidden_size, &bytes) ||
      __builtin_mul_overflow(bytes, input_is_larger ? input_size : hidden_size, &bytes)) {
    fail(Code::kInvalidArgument, input_is_larger ? "input_size" : "hidden_size",
         "input_size=%lld and hidden_size=%lld need weights that 64 bits cannot count in bytes",
         static_cast<long long>(input_size), static_cast<long long>(hidden_size));
  }
  return {input_size, hidden_size};
}

template <nn::CellKind kind>
Ref<nn::Module> make_recurrent(ContextDevice& device, const RecurrentSizes& sizes, nn::RecurrentOptions options) {
  options.cell = kind;
  options.input_size = sizes.input;
  options.hidden_size = sizes.hidden;
  return make_ref<nn::Recurrent>(device, options);
}

const nn::Recurrent& as_recurrent(const nn::Module& module, bool is_lstm) {
  const auto* recurrent = dynamic_cast<const nn::Recurrent*>(&module);
  if (recurrent == nullptr || recurrent->is_lstm() != is_lstm) {
    fail(Code::kInvalidArgument, "module", "module is of kind %s, expected %s", module.kind(),
         is_lstm ? "lstm" : "gru");
  }
  return *recurrent;
}

std::vector<Tensor> forward_lstm(const nn::Module& module, const Tensor& input, const Tensor& hidden,
                                 const Tensor& cell) {
  std::vector<Tensor> outputs(3);
  as_recurrent(module, true).run(std::array{input, hidden, cell}, outputs);
  return outputs;
}

std::vector<Tensor> forward_gru(const nn::Module& module, const Tensor& input, const Tensor& hidden) {
  std::vector<Tensor> outputs(2);
  as_recurrent(module, false).run(std::array{input, hidden}, outputs);
  return outputs;
}

std::vector<Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& cell, const Tensor& weight_ih,
                              const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh) {
  const ops::CellState state = ops::lstm_cell(
      input, {.hidden = hidden, .cell = cell},
      {.input_weight = weight_ih, .hidden_weight = weight_hh, .input_bias = bias_ih, .hidden_bias = bias_hh});
  return {state.hidden, state.cell};
}

Tensor gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
                const Tensor& bias_ih, const Tensor& bias_hh) {
  return ops::gru_cell(
             input, {.hidden = hidden, .cell = {}},
             {.input_weight = weight_ih, .hidden_weight = weight_hh, .input_bias = bias_ih, .hidden_bias = bias_hh})
      .hidden;
}

}  // namespace

htone_status htone_module_create_lstm(htone_device* device, int64_t input_size, int64_t hidden_size,
                                      const htone_recurrent_options* options, htone_module** out) {
  return Call(make_recurrent<nn::CellKind::kLstm>, device, as<recurrent_sizes>(input_size, hidden_size),
              as<recurrent_options>(options), out);
}

htone_status htone_module_create_gru(htone_device* device, int64_t input_size, int64_t hidden_size,
                                     const htone_recurrent_options* options, htone_module** out) {
  return Call(make_recurrent<nn::CellKind::kGru>, device, as<recurrent_sizes>(input_size, hidden_size),
              as<recurrent_options>(options), out);
}

htone_status htone_module_forward_lstm(htone_module* module, htone_tensor* input, htone_tensor* hidden,
                                       htone_tensor* cell, htone_tensor** out, htone_tensor** out_hidden,
                                       htone_tensor** out_cell) {
  return Call(forward_lstm, module, input, optional(hidden), optional(cell), each_of(out, out_hidden, out_cell));
}

htone_status htone_module_forward_gru(htone_module* module, htone_tensor* input, htone_tensor* hidden,
                                      htone_tensor** out, htone_tensor** out_hidden) {
  return Call(forward_gru, module, input, optional(hidden), each_of(out, out_hidden));
}

htone_status htone_lstm_cell(htone_tensor* input, htone_tensor* hidden, htone_tensor* cell, htone_tensor* weight_ih,
                             htone_tensor* weight_hh, htone_tensor* bias_ih, htone_tensor* bias_hh,
                             htone_tensor** out_hidden, htone_tensor** out_cell) {
  return Call(lstm_cell, input, hidden, cell, weight_ih, weight_hh, optional(bias_ih), optional(bias_hh),
              each_of(out_hidden, out_cell));
}

htone_status htone_gru_cell(htone_tensor* input, htone_tensor* hidden, htone_tensor* weight_ih, htone_tensor* weight_hh,
                            htone_tensor* bias_ih, htone_tensor* bias_hh, htone_tensor** out) {
  return Call(gru_cell, input, hidden, weight_ih, weight_hh, optional(bias_ih), optional(bias_hh), out);
}
