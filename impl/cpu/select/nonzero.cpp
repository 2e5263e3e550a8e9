// Indices of the true elements. The mask is cut into parts; their counts say where each part writes.
#include <algorithm>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "cpu/select/entries.h"

namespace halftone::cpu {

namespace {

constexpr int64_t kMostParts = 256;

void write_place(const Shape& shape, int64_t element, int64_t* place) {
  for (int d = shape.rank() - 1; d >= 0; --d) {
    place[d] = element % shape[d];
    element /= shape[d];
  }
}

}  // namespace

Status nonzero(Stream& stream, const View& mask, const View& out) noexcept {
  const auto* elements = static_cast<const bool*>(mask.data);
  auto* places = static_cast<int64_t*>(out.data);
  const int64_t count = mask.numel();
  const int rank = mask.rank();
  const int64_t size = std::max(kChunkSize, (count + kMostParts - 1) / kMostParts);
  const int64_t parts = (count + size - 1) / size;
  int64_t starts[kMostParts];
  pool_of(stream).parallel_for(parts, [&](int64_t part, int) {
    starts[part] = std::count(elements + part * size, elements + std::min((part + 1) * size, count), true);
  });
  int64_t before = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t in_part = starts[part];
    starts[part] = before;
    before += in_part;
  }
  pool_of(stream).parallel_for(parts, [&](int64_t part, int) {
    int64_t row = starts[part];
    for (int64_t i = part * size; i < std::min((part + 1) * size, count); ++i) {
      if (elements[i]) write_place(mask.shape, i, places + row++ * rank);
    }
  });
  return {};
}

}  // namespace halftone::cpu
