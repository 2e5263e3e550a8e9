// The order of the elements of lines: each line becomes a list of keys with indices, of which the first ones are
// sorted. Lines are shared among threads; a line so long that the threads would not have equal work is sorted by all of
// them.
#include <algorithm>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "cpu/index/lines.h"
#include "cpu/select/entries.h"
#include "cpu/select/keys.h"
#include "cpu/select/merge.h"
#include "cpu/select/scratch.h"
#include "cpu/simd/ranges.h"

namespace halftone::cpu {

namespace {

struct Task {
  const SortOrder& order;
  const View& in;
  const View& out;
  Lines lines;   // of `out`
  int64_t size;  // of a line of `in`

  Task(const SortOrder& its_order, const View& input, const View& output)
      : order(its_order), in(input), out(output), lines(output, its_order.dim), size(input.shape[its_order.dim]) {}

  int64_t line_count() const { return lines.outer * lines.inner; }
  bool sorts_all() const { return lines.size == size && order.sorts_chosen; }
  bool merges(const ThreadPool& pool) const {
    return sorts_all() && size > kRunSize && line_count() < 2 * pool.width() && pool.width() > 1;
  }
  // Lines of scratch.
  int64_t scratch(const ThreadPool& pool) const { return merges(pool) ? 2 : pool.width(); }

  // The first element of a line of `in`, as a distance from its data.
  int64_t in_offset(int64_t line) const {
    int64_t offset = 0;
    for (int d = in.rank() - 1; d >= 0; --d) {
      if (d == order.dim) continue;
      offset += line % in.shape[d] * in.strides[d];
      line /= in.shape[d];
    }
    return offset;
  }
};

template <class T, class Entry>
void read_entries(const Task& task, int64_t line, int64_t begin, int64_t end, Entry* entries) {
  const T* from = static_cast<const T*>(task.in.data) + task.in_offset(line);
  const int64_t stride = task.in.strides[task.order.dim];
  for (int64_t i = begin; i < end; ++i) {
    const auto key = key_of(from[i * stride]);
    entries[i] = Entry(task.order.descending ? ~key : key, i);
  }
}

template <class Entry>
void write_indices(const Task& task, int64_t line, int64_t begin, int64_t end, const Entry* entries) {
  const Lines& lines = task.lines;
  auto* out = static_cast<int64_t*>(task.out.data) + line / lines.inner * lines.size * lines.inner + line % lines.inner;
  for (int64_t i = begin; i < end; ++i) out[i * lines.inner] = entries[i].index();
}

// A heap of the chosen entries reads each other entry once, and is faster than a selection among all if there are so
// many times more of these.
constexpr int64_t kManyTimes = 64;

// Brings the chosen entries to the front, in the order in which they are written.
template <class Entry>
void choose(const Task& task, Entry* entries) {
  Entry* const chosen_end = entries + task.lines.size;
  Entry* const end = entries + task.size;
  if (task.lines.size <= task.size / kManyTimes) {
    std::partial_sort(entries, chosen_end, end);
  } else {
    if (chosen_end != end) std::nth_element(entries, chosen_end - 1, end);
    if (task.order.sorts_chosen) std::sort(entries, chosen_end);
  }
  if (task.order.sorts_chosen) return;
  std::sort(entries, chosen_end, [](const Entry& a, const Entry& b) { return a.index() < b.index(); });
}

template <class T, class Entry>
void order_side_by_side(ThreadPool& pool, const Task& task, Entry* scratch) {
  const int64_t step = std::max<int64_t>(1, kChunkSize / task.size);
  pool.parallel_for((task.line_count() + step - 1) / step, [&](int64_t chunk, int worker) {
    Entry* const entries = scratch + worker * task.size;
    for (int64_t line = chunk * step; line < std::min((chunk + 1) * step, task.line_count()); ++line) {
      read_entries<T>(task, line, 0, task.size, entries);
      choose(task, entries);
      write_indices(task, line, 0, task.lines.size, entries);
    }
  });
}

template <class T, class Entry>
void order_one_by_one(ThreadPool& pool, const Task& task, Entry* scratch) {
  for (int64_t line = 0; line < task.line_count(); ++line) {
    for_each_range(pool, task.size,
                   [&](int64_t begin, int64_t end) { read_entries<T>(task, line, begin, end, scratch); });
    const Entry* const sorted = sort_on_all_threads(pool, task.size, scratch, scratch + task.size);
    for_each_range(pool, task.size, [&](int64_t begin, int64_t end) { write_indices(task, line, begin, end, sorted); });
  }
}

template <class T, class Entry>
void order_as(ThreadPool& pool, const Task& task, void* workspace) {
  auto* const scratch = static_cast<Entry*>(workspace);
  if (task.merges(pool)) return order_one_by_one<T>(pool, task, scratch);
  order_side_by_side<T>(pool, task, scratch);
}

}  // namespace

size_t order_workspace(Stream& stream, const SortOrder& order, const View& in, const View& out) noexcept {
  if (out.numel() == 0) return 0;
  const Task task(order, in, out);
  const size_t entry = has_narrow_entries(in.dtype, task.size) ? sizeof(NarrowEntry) : sizeof(WideEntry);
  return scratch_bytes(task.size, task.scratch(pool_of(stream)), entry);
}

Status order(Stream& stream, const SortOrder& order, const View& in, void* workspace, const View& out) noexcept {
  if (out.numel() == 0) return {};
  const Task task(order, in, out);
  ThreadPool& pool = pool_of(stream);
  const bool known = try_visit_dtype(OrderedTypes{}, in.dtype, [&]<class T>() {
    if constexpr (size_of(dtype_of<T>) <= 4) {
      if (has_narrow_entries(in.dtype, task.size)) return order_as<T, NarrowEntry>(pool, task, workspace);
    }
    order_as<T, WideEntry>(pool, task, workspace);
  });
  if (known) return {};
  return Status::failure(Code::kUnsupported, "order has no kernel for %s", name_of(in.dtype));
}

}  // namespace halftone::cpu
