// Reductions over any dimensions of any view. Decides which thread computes which outputs and the order of combining
// terms, by shapes and strides alone. For kernel files that Highway compiles once per instruction set: include after
// hwy/highway.h.
#if defined(HALFTONE_CPU_REDUCE_STRIP_FOLD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_REDUCE_STRIP_FOLD_H
#undef HALFTONE_CPU_REDUCE_STRIP_FOLD_H
#else
#define HALFTONE_CPU_REDUCE_STRIP_FOLD_H
#endif

#include <algorithm>

#include "backend/chunks.h"
#include "core/type_list.h"
#include "cpu/rows/pairwise.h"
#include "cpu/rows/sum_plan.h"
#include "cpu/simd/tiles.h"
#include "cpu/threads/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Reducing at most this many elements takes about 5 us or less and stays on the caller's thread.
inline constexpr int64_t kInlineTerms = 2 * kChunkSize;

// 256 bytes of adjacent columns: the levels of a PairwiseFold then take 6 KiB.
template <class C>
inline constexpr int64_t kStripWidth = 256 / sizeof(C);

// Rows of a strip that are combined one after the other before they enter the pairwise tree.
inline constexpr int64_t kRowsPerStep = 16;

// At most 4 KiB of piece results are kept while threads share the terms of one strip.
template <class C>
inline constexpr int64_t kPieceResults = 4096 / sizeof(C);

inline Strided moved(Strided elements, int64_t offset, int64_t stride) {
  elements.data += offset * static_cast<int64_t>(size_of(elements.dtype));
  elements.stride = stride;
  return elements;
}

// `count` elements as the compute type; the memory itself if it has that type already.
template <class C>
const C* read(const Strided& elements, int64_t count, C* tile) {
  if (elements.stride == 1 && elements.dtype == dtype_of<C>) return reinterpret_cast<const C*>(elements.data);
  load_tile(elements, count, tile);
  return tile;
}

// Rows as the compute type, `stride` elements apart.
template <class C>
struct Rows {
  const C* first;
  int64_t stride;
};

// As read, for several rows of at most kStripWidth elements.
template <class C>
Rows<C> read_rows(const RowBlock& block, C* tiles) {
  const Strided& first = block.first;
  if (first.stride == 1 && first.dtype == dtype_of<C>)
    return {reinterpret_cast<const C*>(first.data), block.row_stride};
  load_tiles(block, kStripWidth<C>, tiles);
  return {tiles, kStripWidth<C>};
}

// Folds the elements themselves. A term functor gets the element and the output's index in its strip.
struct Plain {
  template <class C>
  HWY_INLINE C operator()(C element, int64_t) const {
    return element;
  }
};

// ---- The results of a strip over the terms [begin, end)

// Folds one output alone: blocks of its terms enter the tree.
template <class Combine, class C, class Term>
C fold_row(const SumPlan& plan, const Strip& strip, int64_t output, int64_t begin, int64_t end, const Term& term) {
  const Layout& terms = plan.terms();
  const int64_t in_offset = strip.in_offset + output * strip.in_stride;
  alignas(64) C tile[kBlockSize];
  PairwiseFold<Combine, C, 1> tree;
  for (int64_t block = begin; block < end; block += kBlockSize) {
    const int64_t count = std::min(kBlockSize, end - block);
    const Layout::Run run = terms.run_at(block, count);
    const C* row = tile;
    if (run.count == count) {
      row = read(moved(run.elements, in_offset, run.elements.stride), count, tile);
    } else {
      terms.for_each_run(block, count, [&](const Strided& elements, int64_t offset, int64_t part) {
        load_tile(moved(elements, in_offset, elements.stride), part, tile + offset);
      });
    }
    C of_block = fold_block<Combine, C>(count, [=](int64_t i) { return term(row[i], output); });
    tree.add(&of_block);
  }
  C total;
  tree.total(&total);
  return total;
}

// Folds all outputs together: each row holds one term of every output.
template <class Combine, class C, class Term>
void fold_columns(const SumPlan& plan, const Strip& strip, int64_t begin, int64_t end, const Term& term, C* results) {
  constexpr int64_t width = kStripWidth<C>;
  alignas(64) C tiles[kRowsPerStep * width];
  alignas(64) C step[width];
  PairwiseFold<Combine, C, width> tree;
  for (int64_t row = begin; row < end; row += kRowsPerStep) {
    std::fill(step, step + width, Combine::template kNone<C>);
    const int64_t count = std::min(kRowsPerStep, end - row);
    plan.terms().for_each_run(row, count, [&](const Strided& run, int64_t, int64_t part) {
      const Rows<C> rows =
          read_rows({moved(run, strip.in_offset, strip.in_stride), run.stride, part, strip.width}, tiles);
      for (int64_t i = 0; i < part; ++i) {
        const C* HWY_RESTRICT columns = rows.first + i * rows.stride;
        for (int64_t j = 0; j < strip.width; ++j) step[j] = Combine::of(step[j], term(columns[j], j));
      }
    });
    tree.add(step);
  }
  tree.total(step);
  std::copy(step, step + strip.width, results);
}

template <class Combine, class C, class Term>
void fold_strip(const SumPlan& plan, const Strip& strip, int64_t begin, int64_t end, const Term& term, C* results) {
  if (plan.by_columns()) return fold_columns<Combine>(plan, strip, begin, end, term, results);
  for (int64_t i = 0; i < strip.width; ++i) results[i] = fold_row<Combine, C>(plan, strip, i, begin, end, term);
}

// ---- The distribution over threads

// Calls f(strip) for every strip of a plan; each belongs to one thread.
template <class C, class F>
void for_each_strip(ThreadPool& pool, const SumPlan& plan, F&& f) {
  if (plan.strip_count() == 0) return;
  const int64_t strip_work = std::max<int64_t>(1, plan.term_count() * plan.strip(0).width);
  const bool small = strip_work <= kInlineTerms && plan.strip_count() <= kInlineTerms / strip_work;
  const int64_t step = small ? plan.strip_count() : std::max<int64_t>(1, kChunkSize / strip_work);
  pool.parallel_for((plan.strip_count() + step - 1) / step, [&](int64_t chunk, int) {
    const int64_t end = std::min((chunk + 1) * step, plan.strip_count());
    for (int64_t i = chunk * step; i < end; ++i) f(plan.strip(i));
  });
}

// For few outputs with many terms: cuts the terms into pieces of whole blocks and combines the pieces' results in
// order.
template <class Combine, class C, class Term>
void share_terms(ThreadPool& pool, const SumPlan& plan, const Strip& strip, const Term& term, C* results) {
  alignas(64) C of_pieces[kPieceResults<C>];
  const int64_t most = std::min<int64_t>(64, kPieceResults<C> / strip.width);
  const int64_t step = ((plan.term_count() + most - 1) / most + kBlockSize - 1) / kBlockSize * kBlockSize;
  const int64_t pieces = (plan.term_count() + step - 1) / step;
  pool.parallel_for(pieces, [&](int64_t piece, int) {
    const int64_t end = std::min((piece + 1) * step, plan.term_count());
    fold_strip<Combine>(plan, strip, piece * step, end, term, of_pieces + piece * strip.width);
  });
  for (int64_t i = 0; i < strip.width; ++i) {
    C column[64];
    for (int64_t piece = 0; piece < pieces; ++piece) column[piece] = of_pieces[piece * strip.width + i];
    results[i] = fold<Combine>(column, pieces);
  }
}

// Calls f(strip, fold) for every strip of a plan. fold(term, results) reduces the strip's terms; f may call it several
// times.
template <class Combine, class C, class F>
void with_strips(ThreadPool& pool, const SumPlan& plan, F&& f) {
  if (plan.strip_count() == 0) return;
  const bool few_outputs = plan.strip_count() < 8 && plan.term_count() > kInlineTerms / plan.strip(0).width;
  if (few_outputs) {
    for (int64_t i = 0; i < plan.strip_count(); ++i) {
      const Strip strip = plan.strip(i);
      f(strip, [&](const auto& term, C* results) { share_terms<Combine, C>(pool, plan, strip, term, results); });
    }
    return;
  }
  for_each_strip<C>(pool, plan, [&](const Strip& strip) {
    f(strip,
      [&](const auto& term, C* results) { fold_strip<Combine>(plan, strip, 0, plan.term_count(), term, results); });
  });
}

// Reduces `in` to `out` in the compute type C; `store(strip, results)` stores the results of a strip.
template <class Combine, class C, class Store>
void fold_strips(ThreadPool& pool, const View& in, const View& out, Store&& store) {
  with_strips<Combine, C>(pool, SumPlan(in, out, kStripWidth<C>), [&](const Strip& strip, auto&& fold_terms) {
    alignas(64) C results[kStripWidth<C>];
    fold_terms(Plain{}, results);
    store(strip, results);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_REDUCE_STRIP_FOLD_H
