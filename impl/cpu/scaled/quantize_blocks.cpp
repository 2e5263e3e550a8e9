#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/scaled/quantize_blocks.cpp"
#include <algorithm>
#include <atomic>
#include <bit>

#include "backend/formula/scaling.h"
#include "cpu/convert/quantize.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "cpu/scaled/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/rounding_words.h"
#include "cpu/scaled/band_scales-inl.h"
#include "cpu/scaled/codes-inl.h"
#include "cpu/scaled/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Writes the codes of rows for one thread. E2M1 is packed from a row with one byte for each code.
template <class Code>
class CodeWriter {
 public:
  CodeWriter(const CodeRounding& rounding, const View& codes) : rounding_(rounding), codes_(codes) {}

  void write_row(const Panel& panel, int64_t row, const BandScales& scales) {
    constexpr bool kIsPacked = std::is_same_v<Code, UnpackedE2M1>;
    const Rectangle& place = panel.place;
    const int64_t first = row * codes_.strides[0] + place.column;
    Code* const out = kIsPacked ? row_ : static_cast<Code*>(codes_.data) + first;
    if (rounding_.is_stochastic) {
      draw_words(row, place.column);
      encode_row(panel, row, scales, ByChance{words_ + place.column % kBlockSize}, out);
    } else {
      encode_row(panel, row, scales, ToNearest(), out);
    }
    if constexpr (kIsPacked) pack_codes(row_, place.columns, static_cast<uint8_t*>(codes_.data) + first / 2);
  }

 private:
  template <class Rounding>
  void encode_row(const Panel& panel, int64_t row, const BandScales& scales, const Rounding& rounding,
                  Code* out) const {
    const int64_t first = panel.place.column;
    const float* const values = panel.at(row, first);
    const bool divides = rounding_.rule == ScaleRule::kGiven || rounding_.rule == ScaleRule::kDivided;
    scales.for_each_factor(panel.place, row, [&](int64_t column, int64_t count, float factor) {
      const int64_t begin = column - first;
      if (divides) {
        encode_under<true>(values, begin, begin + count, factor, rounding, out);
      } else {
        encode_under<false>(values, begin, begin + count, factor, rounding, out);
      }
    });
  }

  // words_[i] becomes the word of the row's element column - column % kBlockSize + i.
  void draw_words(int64_t row, int64_t column) {
    const int64_t blocks_of_row = (codes_.shape[1] + kBlockSize - 1) / kBlockSize;
    draw_block(rounding_.key, row * blocks_of_row + column / kBlockSize, words_);
  }

  const CodeRounding& rounding_;
  const View& codes_;
  alignas(64) Code row_[kPanelColumns];
  alignas(64) uint16_t words_[kBlockSize];
};

// No panel has elements of two blocks of words.
static_assert(kBlockSize % kPanelColumns == 0);

template <class Code>
class BandQuantizer {
 public:
  BandQuantizer(const View& in, const CodeRounding& rounding, const ScaledView& out)
      : in_(in), reader_(in), rule_(rounding.rule), out_(out), writer_(rounding, out.codes) {}

  // Prefetches the beginning of the band that is quantized next.
  void prefetch(const Rectangle& band) const { reader_.prefetch(panels_of(in_, band).at(0)); }

  // Returns the largest magnitude, or 0 if the scale is given and `wants_amax` is false. A band of one panel is read
  // once.
  uint32_t quantize(const Rectangle& band, bool wants_amax) {
    const Tiling panels = panels_of(in_, band);
    const bool measures = wants_amax || rule_ != ScaleRule::kGiven;
    BandScales scales(out_, band);
    Panel panel;
    for (int64_t i = 0; measures && i < panels.count(); ++i) {
      panel = reader_.read(panels.at(i));
      if (i + 1 < panels.count()) reader_.prefetch(panels.at(i + 1));
      scales.measure(panel);
    }
    scales.finish(rule_, largest_of(format_of<Code>));
    for (int64_t i = 0; i < panels.count(); ++i) {
      if (!measures || panels.count() > 1) panel = reader_.read(panels.at(i));
      for (int64_t row = panel.place.row; row < panel.place.end_row(); ++row) writer_.write_row(panel, row, scales);
    }
    return scales.largest();
  }

 private:
  const View& in_;
  PanelReader reader_;
  ScaleRule rule_;
  const ScaledView& out_;
  CodeWriter<Code> writer_;
};

}  // namespace

// Quantizes bands [begin, end) for one thread.
uint32_t quantize_bands(const View& in, const CodeRounding& rounding, const ScaledView& out, const Tiling& bands,
                        int64_t begin, int64_t end, bool wants_amax) {
  const auto quantize = [&]<class Code>() {
    BandQuantizer<Code> quantizer(in, rounding, out);
    uint32_t most = 0;
    for (int64_t i = begin; i < end; ++i) {
      // Often this thread takes the band behind the last one, too.
      if (i + 1 < bands.count()) quantizer.prefetch(bands.at(i + 1));
      most = std::max(most, quantizer.quantize(bands.at(i), wants_amax));
    }
    return most;
  };
  if (out.format == NumberFormat::kE4M3) return quantize.template operator()<Float8E4M3>();
  if (out.format == NumberFormat::kE5M2) return quantize.template operator()<Float8E5M2>();
  return quantize.template operator()<UnpackedE2M1>();
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {
namespace {

HWY_EXPORT(quantize_bands);

float& number_in(const View& view) { return *static_cast<float*>(view.data); }

}  // namespace

Status tensor_scale(Stream&, const View& amax, ScaleRule rule, NumberFormat format, const View& scale) noexcept {
  const uint32_t bits = magnitude_bits(number_in(amax));
  number_in(scale) =
      rule == ScaleRule::kNvfp4 ? nv_tensor_scale(bits) : divided_scale(bits, largest_of(format), /*least=*/0);
  return {};
}

Status quantize_blocks(Stream& stream, const View& in, const CodeRounding& rounding, const View& amax,
                       const ScaledView& out) noexcept {
  if (out.scales.numel() == 0) return {};
  CodeRounding keyed = rounding;
  keyed.key = current_key(rounding.key);
  const Tiling bands = bands_of(in, out, rounding.rule);
  const bool wants_amax = amax.data != nullptr;
  const auto quantize = HWY_DYNAMIC_DISPATCH(quantize_bands);
  std::atomic<uint32_t> most{0};
  for_each_range(pool_of(stream), bands.count(), bands.grain(), [&](int64_t begin, int64_t end) {
    raise(most, quantize(in, keyed, out, bands, begin, end, wants_amax));
  });
  if (wants_amax) number_in(amax) = std::bit_cast<float>(most.load());
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
