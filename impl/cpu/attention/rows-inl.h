// Arithmetic on rows of scores. A row has room for whole vectors after its last element. Included once per instruction
// set by forward.cpp and backward.cpp; pure functions, any thread.
#if defined(HALFTONE_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_ATTENTION_ROWS_INL_H_
#undef HALFTONE_ATTENTION_ROWS_INL_H_
#else
#define HALFTONE_ATTENTION_ROWS_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/attention/plan.h"
#include "cpu/gemm/microkernel-inl.h"
#include "cpu/math/exponential.h"
#include "cpu/random/words.h"
#include "cpu/rows/row_math.h"
#include "cpu/simd/tiles.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

static_assert(kAttentionDropoutRow % kWordBlock == 0, "a row begins on a whole block of words");

template <class C>
constexpr C kInfinity = std::numeric_limits<C>::infinity();

template <class C>
void multiply_row(C* row, int64_t count, C factor) {
  for (int64_t i = 0; i < count; ++i) row[i] *= factor;
}

// The mask's elements `at`, one for each score. Cases: an added NaN gives NaN; -infinity hides a key, as a 0 among u8
// or bool does.
template <class C>
void mask_row(const Strided& at, int64_t count, C* row) {
  alignas(64) C mask[kKeyBlock];
  load_tile(at, count, mask);
  if (is_float(at.dtype)) {
    for (int64_t i = 0; i < count; ++i) row[i] += mask[i];
  } else {
    for (int64_t i = 0; i < count; ++i) row[i] = mask[i] != 0 ? row[i] : -kInfinity<C>;
  }
}

// e^x for weights, within 1.1 ulp. REQUIRES: x <= 1, or NaN, which stays NaN. Results below 2^-126 are 0. Half the
// instructions of exponential(), whose formula it takes: weights are not above 1, and need no subnormals.
HWY_INLINE FloatVector weight_of(FloatTag d, FloatVector x) {
  const hn::RebindToSigned<FloatTag> di;
  const auto magic = hn::Set(d, 0x1.8p23f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), r);
  auto series = hn::Set(d, 1.0f / 5040);
  for (const float coefficient : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f}) {
    series = hn::MulAdd(series, r, hn::Set(d, coefficient));
  }
  const auto factor = hn::Add(hn::MulAdd(hn::Mul(series, r), r, r), hn::Set(d, 1.0f));
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto value = hn::Mul(factor, whole_power_of_two(d, exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), value);
}

// row[i] = exp(row[i] - shift); returns the sum.
inline float exponentiate(float* row, int64_t count, float shift) {
  const FloatTag d;
  const auto shifts = hn::Set(d, shift);
  for (int64_t i = count; i < round_up(count, kLanes); ++i) row[i] = -kInfinity<float>;
  FloatVector sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) {
    const FloatVector value = weight_of(d, hn::Sub(hn::LoadU(d, row + i), shifts));
    hn::StoreU(value, d, row + i);
    sum = hn::Add(sum, value);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}
inline double exponentiate(double* row, int64_t count, double shift) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    row[i] = std::exp(row[i] - shift);
    sum += row[i];
  }
  return sum;
}

// Dropout of the scores of one row in one block of keys.
class DropoutRow {
 public:
  DropoutRow(const Dropout& dropout, int64_t keys)
      : dropout_(dropout),
        row_size_(round_up(keys, kAttentionDropoutRow)),
        threshold_(static_cast<uint32_t>(std::ceil(dropout.p * 0x1p24))) {}

  // Draws the words for `count` keys from `key` on; `row` counts all queries.
  void draw(int64_t row, int64_t key, int64_t count) { draw_words(dropout_.key, row * row_size_ + key, count, words_); }

  template <class C>
  C factor(int64_t i) const {
    return (words_[i] >> 8) >= threshold_ ? static_cast<C>(dropout_.scale) : C{0};
  }

 private:
  Dropout dropout_;
  int64_t row_size_;
  uint32_t threshold_;
  alignas(64) uint32_t words_[kKeyBlock];
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
