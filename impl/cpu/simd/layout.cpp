#include "cpu/simd/layout.h"

#include <algorithm>

namespace halftone::cpu {

Layout::Layout(const View& view) noexcept : data_(static_cast<std::byte*>(view.data)), dtype_(view.dtype) {
  for (int i = 0; i < view.rank(); ++i) {
    const int64_t size = view.shape[i];
    if (size == 1) continue;
    if (rank_ > 0 && strides_[rank_ - 1] == view.strides[i] * size) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = view.strides[i];
    } else {
      sizes_[rank_] = size;
      strides_[rank_++] = view.strides[i];
    }
  }
  if (rank_ == 0) {
    sizes_[0] = 1;
    strides_[0] = 1;
    rank_ = 1;
  }
}

Layout::Run Layout::run_at(int64_t index, int64_t limit) const noexcept {
  const int inner = rank_ - 1;
  int64_t offset = 0;
  int64_t position = index;
  if (inner > 0) {
    int64_t outer = index / sizes_[inner];
    position = index % sizes_[inner];
    for (int i = inner - 1; i >= 0; --i) {
      offset += outer % sizes_[i] * strides_[i];
      outer /= sizes_[i];
    }
  }
  offset += position * strides_[inner];
  std::byte* begin = data_ + offset * static_cast<int64_t>(size_of(dtype_));
  return {{begin, dtype_, strides_[inner]}, std::min(limit, sizes_[inner] - position)};
}

}  // namespace halftone::cpu
