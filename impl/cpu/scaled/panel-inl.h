// Parts of a matrix as FP32, for kernels of scaled tensors. For kernel files that Highway compiles once per instruction
// set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_SCALED_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SCALED_PANEL_INL_H
#undef HALFTONE_CPU_SCALED_PANEL_INL_H
#else
#define HALFTONE_CPU_SCALED_PANEL_INL_H
#endif

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

 private:
  static constexpr int64_t kTurnedColumns = 16;

  // A column is a run of memory here, so some columns are loaded, and turned into rows in L1.
  void read_turned(const Rectangle& place, std::byte* first) {
    const int64_t column_bytes = matrix_.strides[1] * static_cast<int64_t>(size_of(matrix_.dtype));
    for (int64_t begin = 0; begin < place.columns; begin += kTurnedColumns) {
      const int64_t count = std::min(kTurnedColumns, place.columns - begin);
      std::byte* const columns = first + begin * column_bytes;
      load_tiles({{columns, matrix_.dtype, 1}, matrix_.strides[1], count, place.rows}, place.rows, columns_);
      for (int64_t row = 0; row < place.rows; ++row) {
        float* const out = values_ + row * place.columns + begin;
        for (int64_t i = 0; i < count; ++i) out[i] = columns_[i * place.rows + row];
      }
    }
  }

  const View& matrix_;
  alignas(64) float values_[kPanelSize];
  alignas(64) float columns_[kTurnedColumns * kTurnedRows];
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SCALED_PANEL_INL_H
