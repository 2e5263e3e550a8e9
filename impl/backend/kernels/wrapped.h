// Tables of kernels made from one function for every entry: of a device that does something else with each call, such
// as keeping it for later.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone {

// The group that a table belongs to.
constexpr auto group_of(const ConvertKernels*) { return &Kernels::convert; }
constexpr auto group_of(const ElementwiseKernels*) { return &Kernels::elementwise; }
constexpr auto group_of(const ReduceKernels*) { return &Kernels::reduce; }
constexpr auto group_of(const GemmKernels*) { return &Kernels::gemm; }
constexpr auto group_of(const ConvKernels*) { return &Kernels::conv; }
constexpr auto group_of(const PoolKernels*) { return &Kernels::pool; }
constexpr auto group_of(const ResampleKernels*) { return &Kernels::resample; }
constexpr auto group_of(const NormKernels*) { return &Kernels::norm; }
constexpr auto group_of(const AttentionKernels*) { return &Kernels::attention; }
constexpr auto group_of(const LossKernels*) { return &Kernels::loss; }
constexpr auto group_of(const IndexKernels*) { return &Kernels::index; }
constexpr auto group_of(const SelectKernels*) { return &Kernels::select; }
constexpr auto group_of(const RandomKernels*) { return &Kernels::random; }
constexpr auto group_of(const StatisticsKernels*) { return &Kernels::statistics; }
constexpr auto group_of(const OptimKernels*) { return &Kernels::optim; }

// Every entry is Wrapper<&Group::entry>::run, of the entry's own type.
template <template <auto> class Wrapper>
constexpr Kernels wrapped_kernels() {
  return {
      .convert =
          {
              .cast = Wrapper<&ConvertKernels::cast>::run,
              .fill = Wrapper<&ConvertKernels::fill>::run,
              .arange = Wrapper<&ConvertKernels::arange>::run,
              .abs_max = Wrapper<&ConvertKernels::abs_max>::run,
              .quantize = Wrapper<&ConvertKernels::quantize>::run,
              .quantize_scale = Wrapper<&ConvertKernels::quantize_scale>::run,
          },
      .elementwise =
          {
              .unary = Wrapper<&ElementwiseKernels::unary>::run,
              .binary = Wrapper<&ElementwiseKernels::binary>::run,
              .ternary = Wrapper<&ElementwiseKernels::ternary>::run,
              .compare = Wrapper<&ElementwiseKernels::compare>::run,
              .clamp = Wrapper<&ElementwiseKernels::clamp>::run,
              .clamp_backward = Wrapper<&ElementwiseKernels::clamp_backward>::run,
              .activation = Wrapper<&ElementwiseKernels::activation>::run,
              .activation_backward = Wrapper<&ElementwiseKernels::activation_backward>::run,
              .affine = Wrapper<&ElementwiseKernels::affine>::run,
          },
      .reduce =
          {
              .sum = Wrapper<&ReduceKernels::sum>::run,
              .accuracy = Wrapper<&ReduceKernels::accuracy>::run,
              .min_max = Wrapper<&ReduceKernels::min_max>::run,
              .min_max_backward = Wrapper<&ReduceKernels::min_max_backward>::run,
              .index_of = Wrapper<&ReduceKernels::index_of>::run,
              .one_hot = Wrapper<&ReduceKernels::one_hot>::run,
              .product = Wrapper<&ReduceKernels::product>::run,
              .cumulative_sum = Wrapper<&ReduceKernels::cumulative_sum>::run,
              .cumulative_product = Wrapper<&ReduceKernels::cumulative_product>::run,
              .cumulative_product_backward = Wrapper<&ReduceKernels::cumulative_product_backward>::run,
              .vector_norm = Wrapper<&ReduceKernels::vector_norm>::run,
              .vector_norm_backward = Wrapper<&ReduceKernels::vector_norm_backward>::run,
              .variance = Wrapper<&ReduceKernels::variance>::run,
              .variance_backward = Wrapper<&ReduceKernels::variance_backward>::run,
              .log_sum_exp = Wrapper<&ReduceKernels::log_sum_exp>::run,
              .log_sum_exp_backward = Wrapper<&ReduceKernels::log_sum_exp_backward>::run,
          },
      .gemm =
          {
              .schedule = Wrapper<&GemmKernels::schedule>::run,
              .run = Wrapper<&GemmKernels::run>::run,
          },
      .conv =
          {
              .workspace = Wrapper<&ConvKernels::workspace>::run,
              .run = Wrapper<&ConvKernels::run>::run,
          },
      .pool =
          {
              .max = Wrapper<&PoolKernels::max>::run,
              .max_backward = Wrapper<&PoolKernels::max_backward>::run,
              .average = Wrapper<&PoolKernels::average>::run,
              .average_backward = Wrapper<&PoolKernels::average_backward>::run,
          },
      .resample =
          {
              .forward = Wrapper<&ResampleKernels::forward>::run,
              .backward = Wrapper<&ResampleKernels::backward>::run,
          },
      .norm =
          {
              .softmax = Wrapper<&NormKernels::softmax>::run,
              .log_softmax = Wrapper<&NormKernels::log_softmax>::run,
              .softmax_backward = Wrapper<&NormKernels::softmax_backward>::run,
              .log_softmax_backward = Wrapper<&NormKernels::log_softmax_backward>::run,
              .cross_entropy = Wrapper<&NormKernels::cross_entropy>::run,
              .cross_entropy_backward = Wrapper<&NormKernels::cross_entropy_backward>::run,
              .nll = Wrapper<&NormKernels::nll>::run,
              .nll_backward = Wrapper<&NormKernels::nll_backward>::run,
              .row_norm = Wrapper<&NormKernels::row_norm>::run,
              .row_norm_backward = Wrapper<&NormKernels::row_norm_backward>::run,
              .update_running = Wrapper<&NormKernels::update_running>::run,
          },
      .attention =
          {
              .workspace = Wrapper<&AttentionKernels::workspace>::run,
              .forward = Wrapper<&AttentionKernels::forward>::run,
              .backward = Wrapper<&AttentionKernels::backward>::run,
              .backward_of_mask = Wrapper<&AttentionKernels::backward_of_mask>::run,
              .rotate = Wrapper<&AttentionKernels::rotate>::run,
          },
      .loss =
          {
              .loss = Wrapper<&LossKernels::loss>::run,
              .loss_backward = Wrapper<&LossKernels::loss_backward>::run,
              .logistic = Wrapper<&LossKernels::logistic>::run,
              .logistic_backward = Wrapper<&LossKernels::logistic_backward>::run,
          },
      .index =
          {
              .check_range = Wrapper<&IndexKernels::check_range>::run,
              .gather = Wrapper<&IndexKernels::gather>::run,
              .scatter_add = Wrapper<&IndexKernels::scatter_add>::run,
              .triangle = Wrapper<&IndexKernels::triangle>::run,
          },
      .select =
          {
              .order_workspace = Wrapper<&SelectKernels::order_workspace>::run,
              .order = Wrapper<&SelectKernels::order>::run,
              .draw_workspace = Wrapper<&SelectKernels::draw_workspace>::run,
              .draw_categories = Wrapper<&SelectKernels::draw_categories>::run,
              .nonzero = Wrapper<&SelectKernels::nonzero>::run,
          },
      .random =
          {
              .uniform = Wrapper<&RandomKernels::uniform>::run,
              .normal = Wrapper<&RandomKernels::normal>::run,
              .dropout = Wrapper<&RandomKernels::dropout>::run,
              .permutation = Wrapper<&RandomKernels::permutation>::run,
          },
      .statistics =
          {
              .summarize = Wrapper<&StatisticsKernels::summarize>::run,
              .summarize_gradients = Wrapper<&StatisticsKernels::summarize_gradients>::run,
          },
      .optim =
          {
              .grad_norm = Wrapper<&OptimKernels::grad_norm>::run,
              .sum_norm = Wrapper<&OptimKernels::sum_norm>::run,
              .edit_state = Wrapper<&OptimKernels::edit_state>::run,
              .begin_step = Wrapper<&OptimKernels::begin_step>::run,
              .update_scale = Wrapper<&OptimKernels::update_scale>::run,
              .adamw = Wrapper<&OptimKernels::adamw>::run,
              .adam = Wrapper<&OptimKernels::adam>::run,
              .lion = Wrapper<&OptimKernels::lion>::run,
              .rmsprop = Wrapper<&OptimKernels::rmsprop>::run,
              .sgd = Wrapper<&OptimKernels::sgd>::run,
              .adafactor = Wrapper<&OptimKernels::adafactor>::run,
              .average = Wrapper<&OptimKernels::average>::run,
              .swap_average = Wrapper<&OptimKernels::swap_average>::run,
              .split_master = Wrapper<&OptimKernels::split_master>::run,
              .join_master = Wrapper<&OptimKernels::join_master>::run,
          },
  };
}

}  // namespace halftone
