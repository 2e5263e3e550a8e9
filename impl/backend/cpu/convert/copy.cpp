#include "backend/cpu/convert/copy.h"

#include <cstring>

#include "backend/cpu/simd/strided_block.h"

namespace halftone::cpu {

void copy_range(const Layout& in, const Layout& out, int64_t begin, int64_t end) noexcept {
  const size_t size = size_of(in.dtype());
  out.for_each_run(begin, end - begin, [&](const Strided& to, int64_t offset, int64_t count) {
    in.for_each_run(begin + offset, count, [&](const Strided& from, int64_t part_offset, int64_t part) {
      std::byte* target = to.data + part_offset * to.stride * static_cast<int64_t>(size);
      if (from.stride == 1 && to.stride == 1) {
        std::memmove(target, from.data, static_cast<size_t>(part) * size);  // a tensor may be copied onto itself
      } else {
        copy_elements(size, from.data, from.stride, target, to.stride, part);
      }
    });
  });
}

}  // namespace halftone::cpu
