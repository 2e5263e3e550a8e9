// Calls every formula that a backend may share from device code, so that a compiler of CUDA refuses one that is only
// host code. Compiled by tests/cuda/compile_formulas.py and never run.
#if defined(__CUDA__) && defined(__clang__)
#include "clang_math.h"
#endif

#include "backend/formula/adafactor.h"
#include "backend/formula/adamw.h"
#include "backend/formula/atan2.h"
#include "backend/formula/block_code.h"
#include "backend/formula/block_scale.h"
#include "backend/formula/box_muller.h"
#include "backend/formula/closeness.h"
#include "backend/formula/ctc.h"
#include "backend/formula/cubic.h"
#include "backend/formula/division.h"
#include "backend/formula/elu.h"
#include "backend/formula/gelu.h"
#include "backend/formula/grad_scaler.h"
#include "backend/formula/grid_reads.h"
#include "backend/formula/hadamard.h"
#include "backend/formula/hyperbolic_tangent.h"
#include "backend/formula/lion.h"
#include "backend/formula/logaddexp.h"
#include "backend/formula/mish.h"
#include "backend/formula/moment_rounding.h"
#include "backend/formula/norm_guard.h"
#include "backend/formula/norm_range.h"
#include "backend/formula/norm_tree.h"
#include "backend/formula/optimizer_state.h"
#include "backend/formula/power.h"
#include "backend/formula/quantization.h"
#include "backend/formula/rmsprop.h"
#include "backend/formula/round_to_format.h"
#include "backend/formula/rounding_key.h"
#include "backend/formula/running_statistic.h"
#include "backend/formula/scaling.h"
#include "backend/formula/schedule.h"
#include "backend/formula/set_moments.h"
#include "backend/formula/sgd.h"
#include "backend/formula/shuffle.h"
#include "backend/formula/sigmoid.h"
#include "backend/formula/softmax.h"
#include "backend/formula/split_master.h"
#include "backend/formula/squarable.h"
#include "backend/formula/state_edit.h"
#include "backend/formula/stochastic_rounding.h"
#include "backend/formula/tensor_summary.h"
#include "backend/formula/update_summary.h"
#include "backend/formula/vector_norm.h"
#include "backend/formula/weight_tree.h"
#include "core/host_device.h"
#include "core/number/float4.h"
#include "core/number/scale8.h"
#include "core/number/tf32.h"
#include "core/philox.h"

namespace halftone {

HALFTONE_HOST_DEVICE double call_activations(double x, double y) {
  return gelu_erf(x) + gelu_erf_derivative(x) + gelu_tanh(x) + gelu_tanh_derivative(x) + sigmoid(x) + silu(x) +
         silu_derivative(x) + softplus(x) + hyperbolic_tangent(x) + softmax_gradient(x, y, y) +
         log_softmax_gradient(x, y, y) + cross_entropy_loss(x, y, y) + elu(x, y) + elu_derivative(x, y) + selu(x) +
         selu_derivative(x) + mish(x) + mish_derivative(x) + log_sigmoid(x);
}

HALFTONE_HOST_DEVICE double call_functions_of_two(double x, double y) {
  return atan2_slope(x, y) + logaddexp(x, y) + logaddexp_slope(x, y) + truncated_remainder(x, y) +
         floored_remainder(x, y) + floored_quotient(x, y) + (are_close(x, y, {1e-5, 1e-8, false}) ? 1 : 0);
}

HALFTONE_HOST_DEVICE int64_t call_divisions_of_integers(int64_t x, int64_t y) {
  return truncated_remainder(x, y) + floored_remainder(x, y) + floored_quotient(x, y);
}

HALFTONE_HOST_DEVICE double call_alignments(const double* logs, const int64_t* labels) {
  const CtcSequence<double> sequence = {logs, 3, labels, 2, 1, 0};
  return ctc_forward(sequence, 0, 0, logs) + ctc_backward(sequence, 0, 0, logs) + ctc_loss_of(sequence, logs) +
         (is_first_of_label(sequence, 1) ? ctc_share_of_label(sequence, 1, logs, logs, 0) : 0);
}

HALFTONE_HOST_DEVICE double call_cubic(int64_t position) {
  const CubicTaps taps = cubic_taps(position, 5, 7, false);
  return taps.weight[0] + static_cast<double>(clamped_tap(taps, 1, 5));
}

HALFTONE_HOST_DEVICE double call_grid(const double* coordinates, const int64_t* sizes) {
  const GridPoint point = grid_point({GridMode::kCubic, GridPadding::kReflection, true}, coordinates, 3, sizes);
  return grid_reads<double>(point, sizes, 1).weight[0];
}

HALFTONE_HOST_DEVICE double call_norm_tree(double x) {
  NormTree tree;
  tree.add({.parameter = 0, .first_block = 0, .blocks = 64}, x);
  return tree.total();
}

HALFTONE_HOST_DEVICE double call_powers(double x, double y) {
  const OneExponent exponent(y);
  return power_base_slope(x, y) + power_exponent_slope(x, y) + (exponent.parity == Parity::kOdd ? 1 : 0);
}

HALFTONE_HOST_DEVICE float call_codes(float x, uint16_t word) {
  const float scale = block_scale(word);
  const int rounded = round_to_bf16(x, word) + round_to_f16(x, word) + split_remainder(x);
  return decode_signed(encode_signed(x, scale, word), scale) + decode_unsigned(encode_unsigned(x, scale, word), scale) +
         join_split(split_high(x), split_remainder(x)) + static_cast<float>(rounded);
}

HALFTONE_HOST_DEVICE double call_norm_range(double x) {
  const double stored = stored_variance(x, scale_of_sums<double>(x));
  const double scale = scale_of_elements<float>(x, deviation_of(stored, x));
  return leaves_range<float>(x, x) || is_ordinary<float>(x, x) ? scale
                                                               : moved_statistic(x, x, 1, plain_variance(stored), x);
}

HALFTONE_HOST_DEVICE double call_vector_norm(double x) {
  const SetMoments moments = joined({x, x, x}, {x, x, squares_of_root(x)});
  return may_leave_range(x, true) ? norm_of_shares(x, x, power_of_share(x, x, x)) + norm_slope(x, x, x)
                                  : deviation_slope(x, moments.mean, root_of_squares(moments.squares));
}

HALFTONE_HOST_DEVICE float call_squarable(float x) { return squarable_grad(x, x, x); }

HALFTONE_HOST_DEVICE float call_quantization(float x) {
  const float largest = largest_of(DType::kF8E4M3);
  return saturated(x / quantize_scale_of(magnitude_bits(x), largest), largest);
}

HALFTONE_HOST_DEVICE double call_format(double x, const FormatGrid<double>& grid, const FormatGrid<float>& of_f32) {
  return round_to_format(x, grid) + round_to_format(round_to_tf32(static_cast<float>(x)), of_f32, 5u) +
         Float4E2M1::from(static_cast<float>(x)) + ScaleE8M0::rounded_up(static_cast<float>(x), 6.0f);
}

HALFTONE_HOST_DEVICE float call_scaling(NumberFormat format, float x) {
  const uint32_t bits = magnitude_bits(x);
  const float factors = mx_scale(bits, largest_of(format), true).factor + power_scale(bits, 448).factor +
                        row_scale(bits, 448).factor + nv_scale(bits, nv_tensor_scale(bits)).factor;
  return number_of_code(format, code_of(format, x, x * factors, true, 5));
}

HALFTONE_HOST_DEVICE float call_rotation(const PhiloxKey& key, const BlockScales& scales, float* block) {
  hadamard_block(hadamard_signs(key), block);
  return scale_at(scales, 1, 2);
}

HALFTONE_HOST_DEVICE float call_random(uint64_t seed, int64_t* items) {
  const PhiloxKey key = rounding_key(seed, 1, 2, Rounded::kWeight);
  const PhiloxBlock words = philox(key, 3);
  shuffle(items, 4, key);
  return box_muller(words[0], words[1]).first + uniform01(words[2]) + static_cast<float>(first_moment_word(5)) +
         (rounds_stochastically(DType::kBF16, 0.9f) ? 1.0f : 0.0f);
}

HALFTONE_HOST_DEVICE double call_draws(uint64_t seed, double* nodes) {
  WeightTree tree(nodes, 4);
  for (int64_t category = 0; category < 4; ++category) tree.set(category, 0.25);
  tree.add_up();
  tree.remove(tree.find(uniform_double({seed, 1}, 3)));
  return tree.total();
}

HALFTONE_HOST_DEVICE void call_updates(const OptimizerState& state, float grad, float* values) {
  adamw_update(adamw_factors(AdamwGroup{}, state, 1), grad, values[0], values[1], values[2]);
  adamw_update<Decay::kInGradient>(adamw_factors<Decay::kInGradient>(AdamwGroup{}, state, 1), grad, values[0],
                                   values[1], values[2]);
  lion_update(lion_factors(LionGroup{}, state), grad, values[0], values[1]);
  const AdafactorFactors adafactor = adafactor_factors(AdafactorGroup{}, state, 1);
  const float share = adafactor_row_share(adafactor, adafactor_mean(adafactor, values[1], grad * grad), values[2]);
  const float rate = adafactor_rate(adafactor, adafactor_scale(adafactor, 1.0, 4), 1.0, 4);
  adafactor_update(adafactor, rate, adafactor_step(adafactor, grad, share), values[0]);
  const RmspropFactors rmsprop = rmsprop_factors(RmspropGroup{}, state);
  rmsprop_update<false, false>(rmsprop, grad, values[0], values[1], values[2], values[3]);
  rmsprop_update<true, true>(rmsprop, grad, values[0], values[1], values[2], values[3]);
  const SgdFactors sgd = sgd_factors(SgdGroup{}, state, 1);
  sgd_update(sgd, grad, values[0]);
  sgd_momentum_update(sgd, grad, values[0], values[1]);
}

HALFTONE_HOST_DEVICE void call_states(OptimizerState& state, ScalerState& scaler, const int64_t* counts) {
  guard_norm(NormGuard{}, state);
  edit(StateEdit{.kind = StateEditKind::kEndStep}, state);
  advance(Schedule{}, state);
  unscale(scaler, state);
  clip_by_norm(1.0, state);
  TensorSummary summary;
  summary.extremes.add(magnitude_of(summary.amax() + summary.amin()));
  if (update_kind(summary.amax(), summary.amin(), scaler.scale) == kLostUpdate) summary.extremes.add(0);
  if (wants_histogram(ScalerSettings{}, scaler)) update_scale(ScalerSettings{}, scaler, counts);
}

#if defined(__CUDA__) || defined(__CUDACC__)
__attribute__((global)) void call_all(OptimizerState* state, ScalerState* scaler, int64_t* items, float* values,
                                      double* nodes) {
  call_states(*state, *scaler, items);
  call_updates(*state, values[0], values);
  values[0] += call_random(7, items) + call_codes(values[1], 9) + call_scaling(NumberFormat::kE2M1, values[1]);
  values[0] += static_cast<float>(call_draws(7, nodes));
  values[0] += static_cast<float>(call_activations(values[0], values[1]) + call_powers(values[0], values[1]));
}
#endif

}  // namespace halftone
