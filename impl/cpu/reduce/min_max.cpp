#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/min_max.cpp"
#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/strip_fold.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class Combine>
void min_max_as(ThreadPool& pool, const View& in, const View& out) {
  const Strided whole = {static_cast<std::byte*>(out.data), out.dtype, 1};
  with_compute_type(in.dtype, [&]<class C>() {
    fold_strips<Combine, C>(pool, in, out, [&](const Strip& strip, const C* results) {
      store_tile(results, strip.width, moved(whole, strip.out_offset, strip.out_stride));
    });
  });
}

// ---- The first index at which a term equals the output's value

template <class C>
bool is_same(C a, C b) {
  return (static_cast<int>(a == b) | (static_cast<int>(a != a) & static_cast<int>(b != b))) != 0;
}

template <class C>
int64_t index_in_row(const Layout& terms, int64_t in_offset, int64_t term_count, C value) {
  alignas(64) C tile[kBlockSize];
  for (int64_t block = 0; block < term_count; block += kBlockSize) {
    const int64_t count = std::min(kBlockSize, term_count - block);
    const Strided elements = terms.run_at(block, count).elements;
    const C* row = read(moved(elements, in_offset, elements.stride), count, tile);
    for (int64_t i = 0; i < count; ++i) {
      if (is_same(row[i], value)) return block + i;
    }
  }
  return 0;
}

// An index type as wide as the value, so that both fill vectors of equal lanes. Indices of 32 bits count within a
// block.
template <class C>
using LaneIndex = std::conditional_t<sizeof(C) == 4, int32_t, int64_t>;
constexpr int64_t kTermsPerBlock = int64_t{1} << 30;

// Runs from the last term to the first, so that the first index is the one that stays.
template <class C>
void indices_in_columns(const SumPlan& plan, const Strip& strip, const C* HWY_RESTRICT values, int64_t* indices) {
  alignas(64) C tile[kStripWidth<C>];
  alignas(64) LaneIndex<C> found[kStripWidth<C>];
  std::fill_n(indices, strip.width, int64_t{0});
  for (int64_t end = plan.term_count(); end > 0; end -= kTermsPerBlock) {
    const int64_t begin = std::max<int64_t>(0, end - kTermsPerBlock);
    std::fill_n(found, kStripWidth<C>, LaneIndex<C>{-1});
    for (int64_t term = end - 1; term >= begin; --term) {
      const Strided elements = plan.terms().run_at(term, 1).elements;
      const C* HWY_RESTRICT columns = read(moved(elements, strip.in_offset, strip.in_stride), strip.width, tile);
      const auto here = static_cast<LaneIndex<C>>(term - begin);
      for (int64_t j = 0; j < strip.width; ++j) found[j] = is_same(columns[j], values[j]) ? here : found[j];
    }
    for (int64_t j = 0; j < strip.width; ++j) {
      if (found[j] >= 0) indices[j] = begin + found[j];
    }
  }
}

template <class C>
void index_of_as(ThreadPool& pool, const View& in, const View& values, const View& out) {
  const SumPlan plan(in, out, kStripWidth<C>);
  const Strided value = {static_cast<std::byte*>(values.data), values.dtype, 1};
  const Strided index = {static_cast<std::byte*>(out.data), out.dtype, 1};
  for_each_strip<C>(pool, plan, [&](const Strip& strip) {
    alignas(64) C wanted[kStripWidth<C>];
    alignas(64) int64_t found[kStripWidth<C>];
    load_tile(moved(value, strip.out_offset, strip.out_stride), strip.width, wanted);
    if (plan.by_columns()) {
      indices_in_columns(plan, strip, wanted, found);
    } else {
      for (int64_t i = 0; i < strip.width; ++i) {
        const int64_t offset = strip.in_offset + i * strip.in_stride;
        found[i] = index_in_row(plan.terms(), offset, plan.term_count(), wanted[i]);
      }
    }
    store_tile(found, strip.width, moved(index, strip.out_offset, strip.out_stride));
  });
}

}  // namespace

void fold_min_max(ThreadPool& pool, MinMax which, const View& in, const View& out) {
  if (which == MinMax::kMax) return min_max_as<Larger>(pool, in, out);
  min_max_as<Smaller>(pool, in, out);
}

void find_index(ThreadPool& pool, const View& in, const View& values, const View& out) {
  with_compute_type(in.dtype, [&]<class C>() { index_of_as<C>(pool, in, values, out); });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(fold_min_max);
HWY_EXPORT(find_index);

Status min_max(Stream& stream, MinMax which, const View& in, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(fold_min_max)(pool_of(stream), which, in, out);
  return {};
}

Status index_of(Stream& stream, const View& in, const View& values, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(find_index)(pool_of(stream), in, values, out);
  return {};
}

}  // namespace halftone::cpu
#endif
