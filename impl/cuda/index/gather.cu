#include "cuda/base/launch.h"
#include "cuda/index/entries.h"
#include "cuda/index/lines.h"

namespace halftone::cuda {
namespace {

// 16 bytes, as one instruction moves them.
struct alignas(16) Word16 {
  uint32_t words[4];
};

struct Pick {
  Lines in;
  Lines out;
  const int64_t* index;
  bool by_row;  // the index is one vector
};

// One thread for each word of the output. An index out of range, which check_range reports, reads nothing.
template <class Word>
HALFTONE_KERNEL gather_kernel(Pick pick, const Word* from, Word* to, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t row = i / pick.out.inner;
    const int64_t column = i - row * pick.out.inner;
    const int64_t picked = pick.index[pick.by_row ? row % pick.out.size : i];
    if (picked < 0 || picked >= pick.in.size) continue;
    to[i] = from[(row / pick.out.size * pick.in.size + picked) * pick.in.inner + column];
  }
}

template <class Word>
Status run(Stream& stream, const Pick& pick, const View& in, const View& out) {
  const int64_t count = pick.out.outer * pick.out.size * pick.out.inner;
  return launch(stream, grid_for_items(device_of(stream), count), gather_kernel<Word>, pick,
                static_cast<const Word*>(in.data), static_cast<Word*>(out.data), count);
}

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % sizeof(Word16) == 0; }

}  // namespace

// Whole rows move in words of 16 bytes where they can.
Status gather(Stream& stream, int dim, const View& in, const View& index, const View& out) noexcept {
  Pick pick = {.in = lines_of(in, dim),
               .out = lines_of(out, dim),
               .index = static_cast<const int64_t*>(index.data),
               .by_row = index.rank() == 1};
  const int64_t size = static_cast<int64_t>(size_of(in.dtype));
  const int64_t row_bytes = pick.out.inner * size;
  if (pick.by_row && row_bytes % 16 == 0 && is_aligned(in.data) && is_aligned(out.data)) {
    pick.in.inner = pick.out.inner = row_bytes / 16;
    return run<Word16>(stream, pick, in, out);
  }
  if (size == 1) return run<uint8_t>(stream, pick, in, out);
  if (size == 2) return run<uint16_t>(stream, pick, in, out);
  if (size == 4) return run<uint32_t>(stream, pick, in, out);
  return run<uint64_t>(stream, pick, in, out);
}

}  // namespace halftone::cuda
