// The scales of the blocks of a band. For kernel files that Highway compiles once per instruction set: include after
// hwy/highway.h.
#if defined(HALFTONE_CPU_SCALED_BAND_SCALES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SCALED_BAND_SCALES_INL_H
#undef HALFTONE_CPU_SCALED_BAND_SCALES_INL_H
#else
#define HALFTONE_CPU_SCALED_BAND_SCALES_INL_H
#endif

#include "backend/formula/scaling.h"
#include "backend/kernels/scaled.h"
#include "cpu/scaled/codes-inl.h"
#include "cpu/scaled/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

class BandScales {
 public:
  // `out` outlives this.
  BandScales(const ScaledView& out, const Rectangle& band)
      : out_(out),
        band_(band),
        across_(std::max<int64_t>(1, (band.columns + out.block_columns - 1) / out.block_columns)),
        count_(across_ * ((band.rows + out.block_rows - 1) / out.block_rows)) {
    std::fill_n(most_, count_, 0);
  }

  // Notes the magnitudes of a panel of the band.
  HWY_NOINLINE void measure(const Panel& panel) {
    const int64_t rows = std::min(out_.block_rows, panel.place.rows);
    for (int64_t row = panel.place.row; row < panel.place.end_row(); row += rows) {
      const int64_t height = std::min(rows, panel.place.end_row() - row);
      for_each_piece(panel.place, row, [&](int64_t block, int64_t column, int64_t count) {
        most_[block] = std::max(most_[block], largest_bits(panel.at(row, column), panel.stride, height, count));
      });
    }
  }
  uint32_t largest() const { return static_cast<uint32_t>(*std::max_element(most_, most_ + count_)); }

  // Computes the scales and stores them, once all panels are measured.
  HWY_NOINLINE void finish(ScaleRule rule, float largest) {
    switch (rule) {
      case ScaleRule::kGiven:
        return std::fill_n(factors_, count_, divisor_of(*static_cast<const float*>(out_.scales.data))), void();
      case ScaleRule::kDivided:
        return store_scales([&](uint32_t bits) { return row_scale(bits, largest); });
      case ScaleRule::kPower:
        return store_scales([&](uint32_t bits) { return power_scale(bits, largest); });
      case ScaleRule::kMxDown:
        return store_scales([&](uint32_t bits) { return mx_scale(bits, largest, false); });
      case ScaleRule::kMxUp:
        return store_scales([&](uint32_t bits) { return mx_scale(bits, largest, true); });
      case ScaleRule::kNvfp4:
        return store_scales([&](uint32_t bits) { return nv_scale(bits, *out_.tensor_scale); });
    }
  }

  // Calls f(first column, count, factor) for the pieces of a row of a panel that have one scale.
  template <class F>
  void for_each_factor(const Rectangle& panel, int64_t row, F&& f) const {
    for_each_piece(panel, row,
                   [&](int64_t block, int64_t column, int64_t count) { f(column, count, factors_[block]); });
  }

 private:
  // No block is smaller than 16 elements, but for those of whole rows.
  static constexpr int64_t kMaxBlocks = kPanelSize / 16;

  // Calls f(block, first column, count) for the pieces of a row that have one scale.
  template <class F>
  void for_each_piece(const Rectangle& panel, int64_t row, F&& f) const {
    const int64_t width = out_.block_columns;
    int64_t block = (row - band_.row) / out_.block_rows * across_ + (panel.column - band_.column) / width;
    for (int64_t column = panel.column; column < panel.end_column(); column += width) {
      // Panels of a block that is wider begin within it, and are not longer.
      f(block++, column, std::min(width, panel.end_column() - column));
    }
  }

  template <class Rule>
  void store_scales(Rule&& rule) {
    using Scale = decltype(rule(0u).scale);
    Scale scales[kMaxBlocks];
    for (int64_t b = 0; b < count_; ++b) {
      const auto scale = rule(static_cast<uint32_t>(most_[b]));
      scales[b] = scale.scale;
      factors_[b] = scale.factor;
    }
    const int64_t first_row = band_.row / out_.block_rows, first_column = band_.column / out_.block_columns;
    const Shape& strides = out_.scales.strides;
    Scale* row = static_cast<Scale*>(out_.scales.data) + first_row * strides[0] + first_column * strides[1];
    for (int64_t begin = 0; begin < count_; begin += across_, row += strides[0]) {
      for (int64_t b = 0; b < across_; ++b) row[b * strides[1]] = scales[begin + b];
    }
  }

  const ScaledView& out_;
  Rectangle band_;
  int64_t across_;
  int64_t count_;
  int32_t most_[kMaxBlocks];
  float factors_[kMaxBlocks];
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SCALED_BAND_SCALES_INL_H
