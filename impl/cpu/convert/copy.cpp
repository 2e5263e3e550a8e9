#include "cpu/convert/copy.h"

#include <cstring>

#include "cpu/convert/transpose.h"
#include "cpu/simd/layout.h"
#include "cpu/simd/ranges.h"
#include "cpu/simd/strided_block.h"

namespace halftone::cpu {

namespace {

// Copies elements [begin, end), counted in row-major order.
void copy_range(const Layout& in, const Layout& out, int64_t begin, int64_t end) noexcept {
  const size_t size = size_of(in.dtype());
  out.for_each_run(begin, end - begin, [&](const Strided& to, int64_t offset, int64_t count) {
    in.for_each_run(begin + offset, count, [&](const Strided& from, int64_t part_offset, int64_t part) {
      std::byte* target = to.data + part_offset * to.stride * static_cast<int64_t>(size);
      // memmove: a tensor may be copied onto itself.
      if (from.stride == 1 && to.stride == 1) {
        std::memmove(target, from.data, static_cast<size_t>(part) * size);
      } else {
        copy_elements(size, from.data, from.stride, target, to.stride, part);
      }
    });
  });
}

}  // namespace

void copy(ThreadPool& pool, const View& in, const View& out) noexcept {
  const Layout in_layout(in);
  const Layout out_layout(out);
  if (!in_layout.is_dense() || !out_layout.is_dense()) {
    const Transpose transpose(in, out);
    if (transpose.applies()) return transpose.run(pool);
  }
  for_each_range(pool, out.numel(), [&](int64_t begin, int64_t end) { copy_range(in_layout, out_layout, begin, end); });
}

}  // namespace halftone::cpu
