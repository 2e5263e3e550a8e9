#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/conv/patches.cpp"
#include "cpu/conv/patches.h"

#include <algorithm>
#include <cstring>

#include "cpu/conv/runs.h"
#include "cpu/simd/strided_block.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
//
#include "cpu/conv/second_elements.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kCacheLine = 64;

// Copies whole cache lines while memory allows. Bytes written after the row's end are overwritten later, or are
// padding.
void copy_row(const std::byte* from, int64_t bytes, const std::byte* readable_end, std::byte* to) {
  if (from + (bytes + kCacheLine - 1) / kCacheLine * kCacheLine > readable_end) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t i = 0; i < bytes; i += kCacheLine) std::memcpy(to + i, from + i, kCacheLine);
}

// The address after the last element.
const std::byte* end_of(const View& view) {
  int64_t last = 0;
  for (int i = 0; i < view.rank(); ++i) last += (view.shape[i] - 1) * view.strides[i];
  return static_cast<const std::byte*>(view.data) + (last + 1) * static_cast<int64_t>(size_of(view.dtype));
}

// Gathers the row of one tap: a plane's row for each row of positions, with zeros where the window is outside.
template <class Word>
class TapGatherer {
 public:
  TapGatherer(const Patches& patches, const Block& block)
      : patches_(patches), block_(block), readable_end_(end_of(patches.planes)), is_shift_(is_shift(patches)) {}

  void gather(int64_t channel, int64_t i, int64_t j, Word* out) const {
    const View& planes = patches_.planes;
    const Inside rows = inside(patches_, 0, i, block_.row + block_.rows);
    const Inside columns = inside(patches_, 1, j, patches_.row_width);
    for (int64_t n = 0; n < block_.images; ++n) {
      const Word* plane =
          static_cast<const Word*>(planes.data) + (block_.image + n) * planes.strides[0] + channel * planes.strides[1];
      if (is_shift_) {
        gather_run(plane, rows, columns, out);
        out += block_.rows * patches_.row_width;
        continue;
      }
      for (int64_t y = block_.row; y < block_.row + block_.rows; ++y, out += patches_.row_width) {
        const bool is_outside = y < rows.begin || y >= rows.end;
        const int64_t place = y * patches_.window.stride[0] + rows.origin;
        gather_row(is_outside ? nullptr : plane + place * planes.strides[2], columns, out);
      }
    }
  }

 private:
  // The copy may write into the rows below the run, so those are cleared after it.
  void gather_run(const Word* plane, const Inside& rows, const Inside& columns, Word* out) const {
    const int64_t width = patches_.row_width;
    const Run run = run_of(rows, columns, block_, width);
    std::fill_n(out, run.row * width, Word{0});
    copy_row(reinterpret_cast<const std::byte*>(plane + run.element), run.count * static_cast<int64_t>(sizeof(Word)),
             readable_end_, reinterpret_cast<std::byte*>(out + run.position));
    clear_borders(run, columns, width, out);
    const int64_t end = run.row + run.rows;
    std::fill_n(out + end * width, (block_.rows - end) * width, Word{0});
  }

  void gather_row(const Word* row, const Inside& columns, Word* out) const {
    const int64_t count = columns.end - columns.begin;
    if (row == nullptr || count == 0) {
      std::fill_n(out, patches_.row_width, Word{0});
      return;
    }
    const int64_t step = patches_.window.stride[1] * patches_.planes.strides[3];
    const Word* first = row + (columns.origin * patches_.planes.strides[3] + columns.begin * step);
    const auto* from = reinterpret_cast<const std::byte*>(first);
    auto* to = reinterpret_cast<std::byte*>(out + columns.begin);
    if (step == 1) {
      copy_row(from, count * static_cast<int64_t>(sizeof(Word)), readable_end_, to);
    } else if (step == 2) {
      copy_second_elements(first, count, out + columns.begin);
    } else {
      copy_words<Word>(from, step, to, 1, count);
    }
    for (int64_t x = 0; x < columns.begin; ++x) out[x] = 0;
    for (int64_t x = columns.end; x < patches_.row_width; ++x) out[x] = 0;
  }

  const Patches& patches_;
  const Block& block_;
  const std::byte* readable_end_;
  bool is_shift_;
};

template <class Word>
void gather(const Patches& patches, const Block& block, int64_t row_stride, Word* out) {
  const TapGatherer<Word> tap(patches, block);
  for (int64_t c = 0; c < patches.planes.shape[1]; ++c) {
    for (int64_t i = 0; i < patches.kernel[0]; ++i) {
      for (int64_t j = 0; j < patches.kernel[1]; ++j, out += row_stride) tap.gather(c, i, j, out);
    }
  }
}

template <class T>
void scatter_row(const T* in, int64_t count, int64_t stride, T* out) {
  if (stride == 1) {
    for (int64_t x = 0; x < count; ++x) out[x] += in[x];
  } else if (stride == 2) {
    add_to_second_elements(in, count, out);
  } else {
    for (int64_t x = 0; x < count; ++x) out[x * stride] += in[x];
  }
}

// Sums outside of the plane become 0, so that a whole run is added at once.
template <class T>
void scatter_runs(const Patches& patches, const Block& block, const Inside& rows, const Inside& columns, T* in,
                  T* channel) {
  const int64_t width = patches.row_width;
  const Run run = run_of(rows, columns, block, width);
  for (int64_t n = 0; n < block.images; ++n, in += block.rows * width) {
    clear_borders(run, columns, width, in);
    scatter_row(in + run.position, run.count, 1, channel + n * patches.planes.strides[0] + run.element);
  }
}

template <class T>
void scatter_tap(const Patches& patches, const Block& block, const Inside& rows, const Inside& columns, T* in,
                 T* channel) {
  if (is_shift(patches)) return scatter_runs(patches, block, rows, columns, in, channel);
  const View& planes = patches.planes;
  for (int64_t n = 0; n < block.images; ++n) {
    for (int64_t y = block.row; y < block.row + block.rows; ++y, in += patches.row_width) {
      if (y < rows.begin || y >= rows.end) continue;
      T* row = channel + n * planes.strides[0] + (y * patches.window.stride[0] + rows.origin) * planes.strides[2];
      T* out = row + (columns.origin + columns.begin * patches.window.stride[1]);
      scatter_row(in + columns.begin, columns.end - columns.begin, patches.window.stride[1], out);
    }
  }
}

template <class T>
void scatter(const Patches& patches, const Block& block, int64_t row_stride, T* in) {
  T* planes = static_cast<T*>(patches.planes.data);
  for (int64_t c = 0; c < patches.planes.shape[1]; ++c) {
    for (int64_t i = 0; i < patches.kernel[0]; ++i) {
      const Inside rows = inside(patches, 0, i, block.row + block.rows);
      for (int64_t j = 0; j < patches.kernel[1]; ++j, in += row_stride) {
        const Inside columns = inside(patches, 1, j, patches.row_width);
        scatter_tap(patches, block, rows, columns, in, planes + c * patches.planes.strides[1]);
      }
    }
  }
}

}  // namespace

void gather_patches(const Patches& patches, const Block& block, int64_t row_stride, void* out) {
  switch (size_of(patches.planes.dtype)) {
    case 8:
      return gather(patches, block, row_stride, static_cast<uint64_t*>(out));
    case 4:
      return gather(patches, block, row_stride, static_cast<uint32_t*>(out));
    default:
      return gather(patches, block, row_stride, static_cast<uint16_t*>(out));
  }
}

void scatter_patches(const Patches& patches, const Block& block, int64_t row_stride, void* in) {
  if (patches.planes.dtype == DType::kF64) return scatter(patches, block, row_stride, static_cast<double*>(in));
  scatter(patches, block, row_stride, static_cast<float*>(in));
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(gather_patches);
HWY_EXPORT(scatter_patches);

void gather_patches(const Patches& patches, const Block& block, int64_t row_stride, void* out) noexcept {
  HWY_DYNAMIC_DISPATCH(gather_patches)(patches, block, row_stride, out);
}

void scatter_patches(const Patches& patches, const Block& block, int64_t row_stride, void* in) noexcept {
  HWY_DYNAMIC_DISPATCH(scatter_patches)(patches, block, row_stride, in);
}

}  // namespace halftone::cpu
#endif
