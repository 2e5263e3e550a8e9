// Kernels that fold the terms of every output, and then write one result for each term from the output's state and the
// term: spread(stream, op, large views, small views). The last large view is written; the op (fold.h) reads those
// before it, and in place of finish it has
//   prepare(state)             called once for an output
//   result(values, i, step, results)   from K terms of all views that are read
// The view that is written may be one that is read: a term is read before its result is written.
// each(stream, op, large views, small views) does the same for an op without a state: it writes results alone.
#pragma once

#include "cuda/reduce/fold.h"

namespace halftone::cuda {

template <class Op, int N>
HALFTONE_DEVICE inline void put_results(const Op& op, const Group& group,
                                        const Terms<typename Op::C, Op::kLarge, N>& terms) {
  terms.for_each(group, [&]<int K>(const typename Op::C(&values)[Op::kLarge][K], int64_t i, int64_t step, auto&& put) {
    typename Op::C results[K];
    op.result(values, i, step, results);
    put(results);
  });
}

// Folds where `states` is null; otherwise takes the output's state from there, with every piece on its own block.
template <class Op, int N, int M>
HALFTONE_KERNEL spread_kernel(Geometry<N, M> geometry, FoldPlan plan, Operands<N> views, Op op,
                              const typename Op::State* states) {
  const Group group(plan);
  for (int64_t block = blockIdx.x; block < blocks_of(geometry, plan); block += gridDim.x) {
    const FoldItem<N, M> item(geometry, plan, group, block);
    Terms<typename Op::C, Op::kLarge, N> terms(views, geometry.terms, geometry.is_tiled, item.large);
    terms.set_range(item.begin, item.end);
    op.begin(item.large, item.small);
    op.prepare(states == nullptr ? fold_terms(op, group, terms) : states[item.exists ? item.output : 0]);
    put_results(op, group, terms);
  }
}

template <class Op, int N, int M>
HALFTONE_KERNEL each_kernel(Geometry<N, M> geometry, FoldPlan plan, Operands<N> views, Op op) {
  const Group group(plan);
  for (int64_t block = blockIdx.x; block < blocks_of(geometry, plan); block += gridDim.x) {
    const FoldItem<N, M> item(geometry, plan, group, block);
    Terms<typename Op::C, Op::kLarge, N> terms(views, geometry.terms, geometry.is_tiled, item.large);
    terms.set_range(item.begin, item.end);
    op.begin(item.large, item.small);
    put_results(op, group, terms);
  }
}

// One block for each output: states[output] = its pieces combined.
template <class Op, int N, int M>
HALFTONE_KERNEL join_kernel(Places<N + M> outputs, Op op, const typename Op::State* partials, int64_t pieces,
                            typename Op::State* states) {
  for (int64_t output = blockIdx.x; output < outputs.count; output += gridDim.x) {
    const typename Op::State state = combine_pieces(op, partials + output * pieces, pieces);
    if (threadIdx.x == 0) states[output] = state;
  }
}

template <class Op, int N, int M>
Status spread(Stream& stream, const Op& op, const View* const (&large)[N], const View* const (&small)[M]) noexcept {
  using State = typename Op::State;
  const Geometry<N, M> geometry = geometry_of(large, small);
  const int64_t outputs = geometry.outputs.count;
  if (outputs == 0 || geometry.terms.count == 0) return {};
  const FoldPlan plan = detail::plan_for<State>(outputs, geometry.terms.count, is_by_columns(geometry));
  const Grid grid = grid_for_rows((outputs + plan.width - 1) / plan.width * plan.pieces, kFoldThreads);
  const Operands<N> views = detail::operands_of(large);
  State* states = nullptr;
  if (plan.pieces > 1) {
    auto* const partials = reinterpret_cast<State*>(scratch_of(stream));
    states = reinterpret_cast<State*>(scratch_of(stream) + kPartialBytes);
    Status status = launch(stream, grid, fold_kernel<Op, N, M>, geometry, plan, views, op, partials);
    if (!status.ok()) return status;
    status = launch(stream, grid_for_rows(outputs, kFoldThreads), join_kernel<Op, N, M>, geometry.outputs, op, partials,
                    plan.pieces, states);
    if (!status.ok()) return status;
  }
  return launch(stream, grid, spread_kernel<Op, N, M>, geometry, plan, views, op, states);
}

template <class Op, int N, int M>
Status each(Stream& stream, const Op& op, const View* const (&large)[N], const View* const (&small)[M]) noexcept {
  const Geometry<N, M> geometry = geometry_of(large, small);
  const int64_t outputs = geometry.outputs.count;
  if (outputs == 0 || geometry.terms.count == 0) return {};
  const FoldPlan plan = plan_fold(outputs, geometry.terms.count, is_by_columns(geometry), INT32_MAX);
  return launch(stream, grid_for_rows((outputs + plan.width - 1) / plan.width * plan.pieces, kFoldThreads),
                each_kernel<Op, N, M>, geometry, plan, detail::operands_of(large), op);
}

}  // namespace halftone::cuda
