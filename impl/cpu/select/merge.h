// Sorts one long line on all threads: runs are sorted side by side, then neighbouring runs are merged in rounds. A
// round is cut by the places that are written: each task finds by bisection which elements of its two runs belong
// there. Safe from any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// The elements of a sorted run, and of the part of a round that one task writes.
inline constexpr int64_t kRunSize = int64_t{1} << 15;

// Two neighbouring runs: [begin, middle) and [middle, end).
struct RunPair {
  int64_t begin;
  int64_t middle;
  int64_t end;
};

// The number of elements of a pair's first run among the first `count` elements of both.
template <class Entry>
int64_t taken_from_first(const Entry* entries, const RunPair& pair, int64_t count) {
  const Entry* first = entries + pair.begin;
  const Entry* second = entries + pair.middle;
  int64_t low = std::max<int64_t>(0, count - (pair.end - pair.middle));
  int64_t high = std::min(count, pair.middle - pair.begin);
  while (low < high) {
    const int64_t guess = low + (high - low) / 2;
    if (first[guess] < second[count - guess - 1]) {
      low = guess + 1;
    } else {
      high = guess;
    }
  }
  return low;
}

// Writes the places [begin, end) of the merged pair.
template <class Entry>
void merge_part(const Entry* from, const RunPair& pair, int64_t begin, int64_t end, Entry* to) {
  const int64_t first_begin = pair.begin + taken_from_first(from, pair, begin - pair.begin);
  const int64_t first_end = pair.begin + taken_from_first(from, pair, end - pair.begin);
  const int64_t second_begin = pair.middle + (begin - first_begin);
  const int64_t second_end = pair.middle + (end - first_end);
  std::merge(from + first_begin, from + first_end, from + second_begin, from + second_end, to + begin);
}

// Sorts `count` entries, and returns the array that then holds them: `entries` or `spare`.
template <class Entry>
Entry* sort_on_all_threads(ThreadPool& pool, int64_t count, Entry* entries, Entry* spare) {
  const int64_t runs = (count + kRunSize - 1) / kRunSize;
  pool.parallel_for(runs, [&](int64_t run, int) {
    std::sort(entries + run * kRunSize, entries + std::min(count, (run + 1) * kRunSize));
  });
  for (int64_t length = kRunSize; length < count; length *= 2) {
    pool.parallel_for(runs, [&](int64_t run, int) {
      const int64_t begin = run * kRunSize;
      const int64_t pair = begin / (2 * length) * (2 * length);
      const RunPair runs_of_part = {pair, std::min(count, pair + length), std::min(count, pair + 2 * length)};
      merge_part(entries, runs_of_part, begin, std::min(count, begin + kRunSize), spare);
    });
    std::swap(entries, spare);
  }
  return entries;
}

}  // namespace halftone::cpu
