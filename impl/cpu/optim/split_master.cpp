#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/split_master.cpp"
#include "cpu/optim/entries.h"

#include <algorithm>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/split_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class F>
void for_each_piece(ThreadPool& pool, int64_t size, F&& f) {
  pool.parallel_for((size + kChunkSize - 1) / kChunkSize, [&](int64_t index, int) {
    const int64_t begin = index * kChunkSize;
    f(begin, std::min(kChunkSize, size - begin));
  });
}

}  // namespace

void split_all(ThreadPool& pool, const View& master, const View& high, const View& remainder) {
  for_each_piece(pool, master.numel(), [&](int64_t begin, int64_t count) {
    split_tile(static_cast<const float*>(master.data) + begin, count, static_cast<uint16_t*>(high.data) + begin,
               static_cast<int16_t*>(remainder.data) + begin);
  });
}

void join_all(ThreadPool& pool, const View& high, const View& remainder, const View& master) {
  for_each_piece(pool, master.numel(), [&](int64_t begin, int64_t count) {
    join_tile(static_cast<const uint16_t*>(high.data) + begin, static_cast<const int16_t*>(remainder.data) + begin,
              count, static_cast<float*>(master.data) + begin);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(split_all);
HWY_EXPORT(join_all);

Status split_master(Stream& stream, const View& master, const View& out_high, const View& out_remainder) noexcept {
  HWY_DYNAMIC_DISPATCH(split_all)(pool_of(stream), master, out_high, out_remainder);
  return {};
}

Status join_master(Stream& stream, const View& high, const View& remainder, const View& out_master) noexcept {
  HWY_DYNAMIC_DISPATCH(join_all)(pool_of(stream), high, remainder, out_master);
  return {};
}

}  // namespace halftone::cpu
#endif
