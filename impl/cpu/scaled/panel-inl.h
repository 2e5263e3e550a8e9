// Parts of a matrix as FP32, for kernels of scaled tensors. For kernel files that Highway compiles once per instruction
// set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_SCALED_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SCALED_PANEL_INL_H
#undef HALFTONE_CPU_SCALED_PANEL_INL_H
#else
#define HALFTONE_CPU_SCALED_PANEL_INL_H
#endif

#include "core/type_list.h"
#include "cpu/gemm/transpose-inl.h"
#include "cpu/scaled/tiling.h"
#include "cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// The values of a rectangle of the matrix, in rows `stride` apart.
struct Panel {
  Rectangle place;
  const float* values;
  int64_t stride;

  const float* at(int64_t row, int64_t column) const {
    return values + (row - place.row) * stride + column - place.column;
  }
};

// Reads panels for one thread. FP32 in rows without gaps is used in place.
class PanelReader {
 public:
  explicit PanelReader(const View& matrix) : matrix_(matrix) {}
  PanelReader(const PanelReader&) = delete;
  PanelReader& operator=(const PanelReader&) = delete;

  // Valid until the next read. REQUIRES: a rectangle of panels_of().
  HWY_NOINLINE Panel read(const Rectangle& place) {
    const int64_t row_stride = matrix_.strides[0], stride = matrix_.strides[1];
    const int64_t offset = place.row * row_stride + place.column * stride;
    std::byte* const first =
        static_cast<std::byte*>(matrix_.data) + offset * static_cast<int64_t>(size_of(matrix_.dtype));
    if (matrix_.dtype == DType::kF32 && stride == 1) {
      return {place, static_cast<const float*>(static_cast<const void*>(first)), row_stride};
    }
    if (is_turned(matrix_)) {
      read_turned(place, first);
    } else {
      load_tiles({{first, matrix_.dtype, stride}, row_stride, place.rows, place.columns}, place.columns, values_);
    }
    return {place, values_, place.columns};
  }

  // Prefetches the panel that is read next, whose runs of memory are too short for the CPU to see them coming.
  void prefetch(const Rectangle& place) const {
    constexpr int64_t kCacheLine = 64;
    const auto size = static_cast<int64_t>(size_of(matrix_.dtype));
    const int run = is_turned(matrix_) ? 0 : 1;
    if (matrix_.strides[run] != 1 || place.columns == 0) return;
    const int64_t lines = run == 0 ? place.columns : place.rows, bytes = (run == 0 ? place.rows : place.columns) * size;
    const auto* from = static_cast<const std::byte*>(matrix_.data) +
                       (place.row * matrix_.strides[0] + place.column * matrix_.strides[1]) * size;
    for (int64_t line = 0; line < lines; ++line, from += matrix_.strides[1 - run] * size) {
      for (int64_t at = 0; at < bytes; at += kCacheLine) hwy::Prefetch(from + at);
      hwy::Prefetch(from + bytes - 1);
    }
  }

 private:
  // A column is a run of memory here: as many columns as a vector has lanes are widened and turned at a time.
  void read_turned(const Rectangle& place, std::byte* first) {
    try_visit_dtype(TypeList<float, Float16, BFloat16>{}, matrix_.dtype, [&]<class T>() {
      const T* const columns = reinterpret_cast<const T*>(first);
      const int64_t stride = matrix_.strides[1];
      int64_t begin = 0;
      for (; begin + kLanes <= place.columns; begin += kLanes) {
        const T* lines[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) lines[i] = columns + (begin + i) * stride;
        transpose_rows(lines, place.rows, place.columns, values_ + begin);
      }
      for (; begin < place.columns; ++begin) {
        for (int64_t row = 0; row < place.rows; ++row) {
          values_[row * place.columns + begin] = static_cast<float>(columns[begin * stride + row]);
        }
      }
    });
  }

  const View& matrix_;
  alignas(64) float values_[kPanelSize];
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SCALED_PANEL_INL_H
