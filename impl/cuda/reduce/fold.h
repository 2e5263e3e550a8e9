// Kernels that combine all terms of every output: fold(stream, op, large views, small views). An op is a struct with
//   C, State           the type that elements are read as, and a plain struct or number that terms are combined in
//   kLarge, kSmall     the views, see geometry.h; every large view is read
//   none()             the state of no terms
//   combine(a, b)      the state of the terms of two states
//   begin(large, small)   called once for an output, with its offsets in the views
//   add(state, values, i, step)   takes K terms in, see terms.h
//   finish(state, small)   writes the result of an output at its offsets in the small views
// An op that goes over its terms twice has of_group(group, terms) in place of add.
//
// Few outputs with many terms are folded in pieces by many blocks. The states of the pieces stay in the first half of the
// stream's scratch, and a second launch combines them in order.
#pragma once

#include "cuda/base/launch.h"
#include "cuda/reduce/terms.h"

namespace halftone::cuda {

template <class Op, int N>
HALFTONE_DEVICE inline typename Op::State fold_terms(const Op& op, const Group& group,
                                                     const Terms<typename Op::C, Op::kLarge, N>& terms) {
  using State = typename Op::State;
  const auto combine = [&op](const State& a, const State& b) { return op.combine(a, b); };
  if constexpr (requires { op.of_group(group, terms, combine); }) {
    return op.of_group(group, terms, combine);
  } else {
    State state = op.none();
    terms.for_each(group, [&](const auto& values, int64_t i, int64_t step, auto&&) { op.add(state, values, i, step); });
    return group.reduce(state, combine);
  }
}

// The work of a group: one output, and a piece of its terms.
template <int N, int M>
struct FoldItem {
  HALFTONE_DEVICE FoldItem(const Geometry<N, M>& geometry, const FoldPlan& plan, const Group& group, int64_t block) {
    piece = block % plan.pieces;
    output = block / plan.pieces * plan.width + group.output();
    exists = output < geometry.outputs.count;
    const Offsets<N + M> offsets = offsets_at(geometry.outputs, exists ? output : 0);
#pragma unroll
    for (int v = 0; v < N; ++v) large[v] = offsets.at[v];
#pragma unroll
    for (int v = 0; v < M; ++v) small[v] = offsets.at[N + v];
    begin = piece * plan.piece_length;
    end = exists ? begin + plan.piece_length : begin;
    if (end > geometry.terms.count) end = geometry.terms.count;
  }
  int64_t output;
  int64_t piece;
  bool exists;
  int64_t large[N];
  int64_t small[M];
  int64_t begin;
  int64_t end;
};

template <int N, int M>
HALFTONE_DEVICE inline int64_t blocks_of(const Geometry<N, M>& geometry, const FoldPlan& plan) {
  return (geometry.outputs.count + plan.width - 1) / plan.width * plan.pieces;
}

template <class Op, int N, int M>
HALFTONE_KERNEL fold_kernel(Geometry<N, M> geometry, FoldPlan plan, Operands<N> views, Op op,
                            typename Op::State* partials) {
  const Group group(plan);
  for (int64_t block = blockIdx.x; block < blocks_of(geometry, plan); block += gridDim.x) {
    const FoldItem<N, M> item(geometry, plan, group, block);
    Terms<typename Op::C, Op::kLarge, N> terms(views, geometry.terms, geometry.is_tiled, item.large);
    terms.set_range(item.begin, item.end);
    op.begin(item.large, item.small);
    const typename Op::State state = fold_terms(op, group, terms);
    if (group.lane() != 0 || !item.exists) continue;
    if (partials != nullptr) {
      partials[item.output * plan.pieces + item.piece] = state;
    } else {
      op.finish(state, item.small);
    }
  }
}

// The states of one output's pieces, combined by a whole block. Every thread gets the result.
template <class Op>
HALFTONE_DEVICE inline typename Op::State combine_pieces(const Op& op, const typename Op::State* partials,
                                                         int64_t pieces) {
  using State = typename Op::State;
  const Group group{FoldPlan()};
  State state = op.none();
  for (int64_t i = group.lane(); i < pieces; i += group.depth()) state = op.combine(state, partials[i]);
  return group.reduce(state, [&op](const State& a, const State& b) { return op.combine(a, b); });
}

// One block for each output.
template <class Op, int N, int M>
HALFTONE_KERNEL combine_kernel(Places<N + M> outputs, Op op, const typename Op::State* partials, int64_t pieces) {
  for (int64_t output = blockIdx.x; output < outputs.count; output += gridDim.x) {
    const Offsets<N + M> offsets = offsets_at(outputs, output);
    op.begin(offsets.at, offsets.at + N);
    const typename Op::State state = combine_pieces(op, partials + output * pieces, pieces);
    if (threadIdx.x == 0) op.finish(state, offsets.at + N);
  }
}

// The bytes of a stream's scratch for the states of pieces; the others are free for the caller of fold.
inline constexpr size_t kPartialBytes = kScratchBytes / 2;

namespace detail {

template <class State>
FoldPlan plan_for(int64_t outputs, int64_t terms, bool by_columns) {
  return plan_fold(outputs, terms, by_columns, static_cast<int64_t>(kPartialBytes / sizeof(State)));
}

template <int N>
Operands<N> operands_of(const View* const (&views)[N]) {
  Operands<N> operands;
  for (int v = 0; v < N; ++v) operands.at[v] = elements_of(*views[v]);
  return operands;
}

}  // namespace detail

template <class Op, int N, int M>
Status fold(Stream& stream, const Op& op, const View* const (&large)[N], const View* const (&small)[M]) noexcept {
  using State = typename Op::State;
  const Geometry<N, M> geometry = geometry_of(large, small);
  const int64_t outputs = geometry.outputs.count;
  if (outputs == 0) return {};
  const FoldPlan plan = detail::plan_for<State>(outputs, geometry.terms.count, is_by_columns(geometry));
  State* const partials = plan.pieces > 1 ? reinterpret_cast<State*>(scratch_of(stream)) : nullptr;
  const int64_t blocks = (outputs + plan.width - 1) / plan.width * plan.pieces;
  Status status = launch(stream, grid_for_rows(blocks, kFoldThreads), fold_kernel<Op, N, M>, geometry, plan,
                         detail::operands_of(large), op, partials);
  if (!status.ok() || plan.pieces == 1) return status;
  return launch(stream, grid_for_rows(outputs, kFoldThreads), combine_kernel<Op, N, M>, geometry.outputs, op, partials,
                plan.pieces);
}

}  // namespace halftone::cuda
