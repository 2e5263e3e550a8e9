#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/plain_loops.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <algorithm>

#include "bench/plain_loops.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kStep = 64;  // parts begin at multiples of this many elements: whole cache lines in every array

struct Range {
  int64_t begin;
  int64_t end;
};

Range part(int64_t size, int64_t index, int64_t parts) {
  const auto edge = [&](int64_t i) { return i == parts ? size : size * i / parts / kStep * kStep; };
  return {edge(index), edge(index + 1)};
}

// REQUIRES: a size that is a multiple of kStep, and arrays that begin at cache lines.
template <bool copies>
void update(const PlainStreams& streams, const Range& range) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const hn::Rebind<uint16_t, decltype(df)> d16;
  const hn::ScalableTag<uint16_t> d16_full;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto share = hn::Set(df, 0x1p-20f);
  HWY_ALIGN uint16_t words[hn::MaxLanes(d16_full)];
  const auto step = [&](int64_t i) HWY_ATTR {
    const auto grad = hn::Mul(hn::Load(df, streams.grad + i), share);
    const auto master = hn::Add(hn::Load(df, streams.master + i), grad);
    hn::Store(master, df, streams.master + i);
    hn::Store(hn::Add(hn::Load(df, streams.moment1 + i), grad), df, streams.moment1 + i);
    hn::Store(hn::Add(hn::Load(df, streams.moment2 + i), grad), df, streams.moment2 + i);
    return hn::TruncateTo(d16, hn::ShiftRight<16>(hn::BitCast(du, master)));
  };
  for (int64_t i = range.begin; i < range.end; i += 2 * lanes) {
    const auto lower = step(i);
    const auto upper = step(i + lanes);
    if (!copies) continue;
    hn::StoreU(lower, d16, words);
    hn::StoreU(upper, d16, words + lanes);
    hn::Stream(hn::Load(d16_full, words), d16_full, streams.copy + i);
  }
  hwy::FlushStream();
}

void update_all(ThreadPool& pool, const PlainStreams& streams) {
  const int64_t parts = pool.width();
  pool.parallel_for(parts, [&](int64_t i, int) { update<false>(streams, part(streams.size, i, parts)); });
}

void update_and_copy_all(ThreadPool& pool, const PlainStreams& streams) {
  const int64_t parts = pool.width();
  pool.parallel_for(parts, [&](int64_t i, int) { update<true>(streams, part(streams.size, i, parts)); });
}

float read(const float* in, const Range& range) {
  const hn::ScalableTag<float> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  auto sum0 = hn::Zero(df), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (int64_t i = range.begin; i < range.end; i += 4 * lanes) {
    sum0 = hn::Add(sum0, hn::Load(df, in + i));
    sum1 = hn::Add(sum1, hn::Load(df, in + i + lanes));
    sum2 = hn::Add(sum2, hn::Load(df, in + i + 2 * lanes));
    sum3 = hn::Add(sum3, hn::Load(df, in + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(df, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
}

float read_all(ThreadPool& pool, const PlainStreams& streams) {
  float sums[256];
  const int64_t parts = std::min(pool.width(), 256);
  pool.parallel_for(parts, [&](int64_t i, int) { sums[i] = read(streams.grad, part(streams.size, i, parts)); });
  return *std::max_element(sums, sums + parts);
}

}  // namespace halftone::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone {

HWY_EXPORT(update_all);
HWY_EXPORT(update_and_copy_all);
HWY_EXPORT(read_all);

void plain_update(ThreadPool& pool, const PlainStreams& streams) { HWY_DYNAMIC_DISPATCH(update_all)(pool, streams); }

void plain_update_with_copy(ThreadPool& pool, const PlainStreams& streams) {
  HWY_DYNAMIC_DISPATCH(update_and_copy_all)(pool, streams);
}

float plain_read(ThreadPool& pool, const PlainStreams& streams) {
  return HWY_DYNAMIC_DISPATCH(read_all)(pool, streams);
}

}  // namespace halftone
#endif
