#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/reduce/sum.cpp"
#include "backend/cpu/reduce/sum.h"

#include <algorithm>

#include "backend/chunks.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/reduce/sum_plan.h"
#include "core/type_list.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "backend/cpu/reduce/pairwise.h"
#include "backend/cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Adding up to this many elements costs about 5 us or less and stays on the caller's thread.
constexpr int64_t kInlineSize = 2 * kChunkSize;

// 256 bytes of columns side by side, so that a counter of partial sums stays below 6 KiB.
template <class C>
inline constexpr int64_t kStripWidth = 256 / sizeof(C);

// Rows of a strip that are added one after the other before they enter the pairwise tree.
constexpr int64_t kRowsPerStep = 16;

// At most so many sums of pieces are held while one strip's terms are shared among threads: 4 KiB.
template <class C>
inline constexpr int64_t kPieceSums = 4096 / sizeof(C);

Strided moved(Strided elements, int64_t offset, int64_t stride) {
  elements.data += offset * static_cast<int64_t>(size_of(elements.dtype));
  elements.stride = stride;
  return elements;
}

// `count` elements as the compute type: the memory itself where it is that already.
template <class C>
const C* read(const Strided& elements, int64_t count, C* tile) {
  if (elements.stride == 1 && elements.dtype == dtype_of<C>) return reinterpret_cast<const C*>(elements.data);
  load_tile(elements, count, tile);
  return tile;
}

// ---- The sums of a strip over the terms [begin, end)

// One output at a time: blocks of terms enter the tree.
template <class C>
C sum_row(const Layout& terms, int64_t in_offset, int64_t begin, int64_t end) {
  alignas(64) C tile[kBlockSize];
  PairwiseSum<C, 1> sum;
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
    C block_sum = sum_of_block<C>(count, [row](int64_t i) { return row[i]; });
    sum.add(&block_sum);
  }
  C total;
  sum.total(&total);
  return total;
}

// All outputs at once: rows of one term each are added.
template <class C>
void sum_columns(const Layout& terms, const Strip& strip, int64_t begin, int64_t end, C* sums) {
  constexpr int64_t width = kStripWidth<C>;
  alignas(64) C tile[width];
  alignas(64) C step[width];
  PairwiseSum<C, width> sum;
  for (int64_t row = begin; row < end; row += kRowsPerStep) {
    std::fill(step, step + width, C{0});
    const int64_t count = std::min(kRowsPerStep, end - row);
    terms.for_each_run(row, count, [&](const Strided& run, int64_t, int64_t part) {
      for (int64_t i = 0; i < part; ++i) {
        const C* HWY_RESTRICT columns =
            read(moved(run, strip.in_offset + i * run.stride, strip.in_stride), strip.width, tile);
        for (int64_t j = 0; j < strip.width; ++j) step[j] = plus(step[j], columns[j]);
      }
    });
    sum.add(step);
  }
  sum.total(step);
  std::copy(step, step + strip.width, sums);
}

template <class C>
void sum_strip(const SumPlan& plan, const Strip& strip, int64_t begin, int64_t end, C* sums) {
  if (plan.by_columns()) return sum_columns(plan.terms(), strip, begin, end, sums);
  for (int64_t i = 0; i < strip.width; ++i) {
    sums[i] = sum_row<C>(plan.terms(), strip.in_offset + i * strip.in_stride, begin, end);
  }
}

// ---- The result

struct Result {
  double scale;
  Store store;
  Strided out;  // of the whole output
};

template <class C>
void store_sums(const Result& result, const Strip& strip, C* sums) {
  const Strided out = moved(result.out, strip.out_offset, strip.out_stride);
  alignas(64) C previous[kStripWidth<C>];
  if (result.store == Store::kAdd) load_tile(out, strip.width, previous);
  for (int64_t i = 0; i < strip.width; ++i) {
    if constexpr (!std::is_integral_v<C>) sums[i] = static_cast<C>(static_cast<double>(sums[i]) * result.scale);
    if (result.store == Store::kAdd) sums[i] = plus(previous[i], sums[i]);
  }
  store_tile(sums, strip.width, out);
}

// ---- Who computes what

// Many outputs: each strip belongs to one thread.
template <class C>
void share_strips(ThreadPool& pool, const SumPlan& plan, const Result& result) {
  const int64_t strip_work = std::max<int64_t>(1, plan.term_count() * plan.strip(0).width);
  const bool small = strip_work <= kInlineSize && plan.strip_count() <= kInlineSize / strip_work;
  const int64_t step = small ? plan.strip_count() : std::max<int64_t>(1, kChunkSize / strip_work);
  pool.parallel_for((plan.strip_count() + step - 1) / step, [&](int64_t chunk, int) {
    alignas(64) C sums[kStripWidth<C>];
    const int64_t end = std::min((chunk + 1) * step, plan.strip_count());
    for (int64_t i = chunk * step; i < end; ++i) {
      const Strip strip = plan.strip(i);
      sum_strip(plan, strip, 0, plan.term_count(), sums);
      store_sums(result, strip, sums);
    }
  });
}

// Few outputs of many terms: the terms are cut into pieces of whole blocks, and the pieces' sums are added in order.
template <class C>
void share_terms(ThreadPool& pool, const SumPlan& plan, const Strip& strip, const Result& result) {
  alignas(64) C sums[kPieceSums<C>];
  const int64_t most = std::min<int64_t>(64, kPieceSums<C> / strip.width);
  const int64_t step = ((plan.term_count() + most - 1) / most + kBlockSize - 1) / kBlockSize * kBlockSize;
  const int64_t pieces = (plan.term_count() + step - 1) / step;
  pool.parallel_for(pieces, [&](int64_t piece, int) {
    const int64_t end = std::min((piece + 1) * step, plan.term_count());
    sum_strip(plan, strip, piece * step, end, sums + piece * strip.width);
  });
  for (int64_t i = 0; i < strip.width; ++i) {
    C column[64];
    for (int64_t piece = 0; piece < pieces; ++piece) column[piece] = sums[piece * strip.width + i];
    const C total = fold(column, pieces);
    sums[i] = total;
  }
  store_sums(result, strip, sums);
}

template <class C>
void sum_as(ThreadPool& pool, const View& in, const View& out, const Result& result) {
  const SumPlan plan(in, out, kStripWidth<C>);
  if (plan.strip_count() == 0) return;
  const bool few_outputs = plan.strip_count() < 8 && plan.term_count() > kInlineSize / plan.strip(0).width;
  if (!few_outputs) return share_strips<C>(pool, plan, result);
  for (int64_t i = 0; i < plan.strip_count(); ++i) share_terms<C>(pool, plan, plan.strip(i), result);
}

}  // namespace

void sum(ThreadPool& pool, const View& in, double scale, Store store, const View& out) {
  const Result result = {scale, store, {static_cast<std::byte*>(out.data), out.dtype, 1}};
  const bool wide = in.dtype == DType::kF64 || out.dtype == DType::kF64;
  if (wide) return sum_as<double>(pool, in, out, result);
  if (is_float(in.dtype) || is_float(out.dtype)) return sum_as<float>(pool, in, out, result);
  sum_as<int64_t>(pool, in, out, result);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(sum);

Status sum(Stream& stream, const View& in, double scale, Store store, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(sum)(pool_of(stream), in, scale, store, out);
  return {};
}

}  // namespace halftone::cpu
#endif
