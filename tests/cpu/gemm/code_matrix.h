// Matrices of random codes with scales of blocks, and the same numbers in FP32, for the tests of products of codes.
// Used from one thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "backend/formula/block_scale.h"
#include "backend/view.h"
#include "core/number/float4.h"
#include "core/number/float8.h"

namespace halftone {

// Codes of `dtype`, kU8 for E2M1, in lines along k, and the blocks of a scale: `lines` by `depth` codes.
struct CodeLayout {
  const char* name;
  DType dtype;
  ScaleFormat format;
  int64_t lines;  // 0: no scales
  int64_t depth;
};

// The neighbours in memory: kDepth along k, kLines across it, kGaps none.
enum class CodeOrder { kDepth, kLines, kGaps };

class CodeMatrix {
 public:
  CodeMatrix(const CodeLayout& layout, int64_t lines, int64_t k, CodeOrder order, uint32_t seed)
      : layout_(layout), random_(seed) {
    const int64_t width = order == CodeOrder::kGaps ? 2 : 1;
    const int64_t row = ((order == CodeOrder::kLines ? lines : k) * width + 1) / 2 * 2;
    view_ = {.dtype = layout.dtype, .shape = {lines, k}, .strides = {row, width}};
    if (order == CodeOrder::kLines) std::swap(view_.strides[0], view_.strides[1]);
    const auto size = static_cast<size_t>(row * (order == CodeOrder::kLines ? k : lines));
    codes_.resize(layout.dtype == DType::kU8 ? size / 2 : size);
    for (uint8_t& code : codes_) code = random_code();
    view_.data = codes_.data();
    if (layout.lines > 0) make_scales(lines, k);
  }
  CodeMatrix(const CodeMatrix&) = delete;
  CodeMatrix& operator=(const CodeMatrix&) = delete;

  // As a: [lines, k].
  const View& rows() const { return view_; }
  const BlockScales& row_scales() const { return scales_; }
  // As b: [k, lines].
  View columns() const {
    View view = view_;
    std::swap(view.shape[0], view.shape[1]);
    std::swap(view.strides[0], view.strides[1]);
    return view;
  }
  BlockScales column_scales() const {
    BlockScales scales = scales_;
    std::swap(scales.rows, scales.columns);
    std::swap(scales.strides[0], scales.strides[1]);
    return scales;
  }

  const std::vector<uint8_t>& code_bytes() const { return codes_; }
  size_t scale_bytes() const { return layout_.format <= ScaleFormat::kF32Power ? 4 * words_.size() : bytes_.size(); }

  // Scale `i` of the matrix, whose memory begins with that of line 0.
  void set_scale(size_t i, uint8_t code) { bytes_[i] = code; }

  // The value of each element, or its code alone.
  std::vector<float> values(bool is_scaled = true) const {
    std::vector<float> values;
    for (int64_t line = 0; line < view_.shape[0]; ++line) {
      for (int64_t p = 0; p < view_.shape[1]; ++p) {
        values.push_back(code_at(line * view_.strides[0] + p * view_.strides[1]) *
                         (is_scaled ? scale_at(scales_, line, p) : 1.0f));
      }
    }
    return values;
  }

 private:
  float code_at(int64_t offset) const {
    const auto at = static_cast<size_t>(offset);
    if (layout_.dtype == DType::kF8E4M3) return Float8E4M3{codes_[at]};
    if (layout_.dtype == DType::kF8E5M2) return Float8E5M2{codes_[at]};
    return Float4E2M1{static_cast<uint8_t>(codes_[at / 2] >> (4 * (at % 2)) & 15)};
  }

  // No NaN and no infinity.
  uint8_t random_code() {
    const auto code = static_cast<uint8_t>(random_());
    if (layout_.dtype == DType::kF8E4M3 && (code & 0x7f) == 0x7f) return 1;
    if (layout_.dtype == DType::kF8E5M2 && (code & 0x7f) >= 0x7c) return 2;
    return code;
  }

  void make_scales(int64_t lines, int64_t k) {
    const int64_t depth = (k + layout_.depth - 1) / layout_.depth;
    const auto count = static_cast<size_t>((lines + layout_.lines - 1) / layout_.lines * depth);
    const bool has_words = layout_.format <= ScaleFormat::kF32Power;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t random = random_();
      words_.push_back(layout_.format == ScaleFormat::kF32 ? static_cast<float>(random % 1000 + 1) / 512
                                                           : std::bit_cast<float>((117 + random % 20) << 23));
      bytes_.push_back(layout_.format == ScaleFormat::kE8M0 ? static_cast<uint8_t>(117 + random % 20)
                                                            : static_cast<uint8_t>(random % 0x7f));
    }
    scales_ = {.data = has_words ? static_cast<const void*>(words_.data()) : bytes_.data(),
               .format = layout_.format,
               .rows = layout_.lines,
               .columns = layout_.depth,
               .strides = {depth, 1}};
  }

  CodeLayout layout_;
  std::mt19937 random_;
  std::vector<uint8_t> codes_;
  std::vector<float> words_;
  std::vector<uint8_t> bytes_;
  View view_;
  BlockScales scales_;
};

}  // namespace halftone
