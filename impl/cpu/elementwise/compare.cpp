#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/compare.cpp"
#include <limits>

#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// hn::Ne returns false for NaN on some instruction sets.
template <class V>
HWY_INLINE auto is_unequal(V a, V b) {
  return hn::Not(hn::Eq(a, b));
}

template <CompareOp op, class D, class V>
HWY_INLINE hn::Mask<D> holds(D d, V a, V b) {
  const auto zero = hn::Zero(d);
  if constexpr (op == CompareOp::kEqual) return hn::Eq(a, b);
  if constexpr (op == CompareOp::kNotEqual) return is_unequal(a, b);
  if constexpr (op == CompareOp::kLess) return hn::Lt(a, b);
  if constexpr (op == CompareOp::kLessEqual) return hn::Le(a, b);
  if constexpr (op == CompareOp::kLogicalAnd) return hn::And(is_unequal(a, zero), is_unequal(b, zero));
  if constexpr (op == CompareOp::kLogicalOr) return hn::Or(is_unequal(a, zero), is_unequal(b, zero));
  if constexpr (op == CompareOp::kLogicalXor) return hn::Xor(is_unequal(a, zero), is_unequal(b, zero));
  const auto infinity = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
  if constexpr (op == CompareOp::kEitherInfinite) {
    return hn::Or(hn::Eq(hn::Abs(a), infinity), hn::Eq(hn::Abs(b), infinity));
  }
  if constexpr (op == CompareOp::kBothFinite) {
    return hn::And(hn::Lt(hn::Abs(a), infinity), hn::Lt(hn::Abs(b), infinity));
  }
}

template <CompareOp op>
bool holds_of_integers(int64_t a, int64_t b) {
  if constexpr (op == CompareOp::kEqual) return a == b;
  if constexpr (op == CompareOp::kNotEqual) return a != b;
  if constexpr (op == CompareOp::kLess) return a < b;
  if constexpr (op == CompareOp::kLessEqual) return a <= b;
  if constexpr (op == CompareOp::kLogicalAnd) return a != 0 && b != 0;
  if constexpr (op == CompareOp::kLogicalOr) return a != 0 || b != 0;
  if constexpr (op == CompareOp::kLogicalXor) return (a != 0) != (b != 0);
  if constexpr (op == CompareOp::kBothFinite) return true;
  if constexpr (op == CompareOp::kEitherInfinite) return false;
}

// Writes 1 or 0 in the compute type; the tile writer converts them to bool.
template <CompareOp op, class C>
void row(const C* a, const C* b, C* out, int64_t count) {
  if constexpr (std::is_integral_v<C>) {
    for (int64_t i = 0; i < count; ++i) out[i] = holds_of_integers<op>(a[i], b[i]) ? 1 : 0;
  } else {
    const hn::ScalableTag<C> d;
    for_each_vector(
        d, count, [&](auto x, auto y) HWY_ATTR { return hn::IfThenElseZero(holds<op>(d, x, y), hn::Set(d, 1)); }, out,
        a, b);
  }
}

template <class C>
using Row = void (*)(const C*, const C*, C*, int64_t);

inline constexpr auto kAllOps = std::make_index_sequence<static_cast<size_t>(CompareOp::kEnd)>();

template <class C, size_t... op>
Row<C> row_of(CompareOp wanted, std::index_sequence<op...>) {
  static constexpr Row<C> kRows[] = {row<static_cast<CompareOp>(op), C>...};
  return kRows[static_cast<size_t>(wanted)];
}

// In double whatever the dtype, one element at a time.
template <class C>
void close_elements(const Closeness& closeness, const Layout* views, int64_t begin, int64_t end) {
  const auto row = [=](const C* a, const C* b, C* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = are_close(static_cast<double>(a[i]), static_cast<double>(b[i]), closeness) ? 1 : 0;
    }
  };
  map_range<C>(row, views[2], begin, end, views[0], views[1]);
}

// `views`: the two inputs, then the output.
void close_range(const Closeness& closeness, const Layout* views, int64_t begin, int64_t end) {
  with_compute_type(promote(views[0].dtype(), views[1].dtype()),
                    [&]<class C>() { close_elements<C>(closeness, views, begin, end); });
}

void compare_range(CompareOp op, const Layout& a, const Layout& b, const Layout& out, int64_t begin, int64_t end) {
  with_compute_type(promote(a.dtype(), b.dtype()),
                    [&]<class C>() { map_range<C>(row_of<C>(op, kAllOps), out, begin, end, a, b); });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(compare_range);
HWY_EXPORT(close_range);

Status compare(Stream& stream, CompareOp op, const View& a, const View& b, const View& out) noexcept {
  const Layout a_layout(a);
  const Layout b_layout(b);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(compare_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(op, a_layout, b_layout, out_layout, begin, end); });
  return {};
}

Status close(Stream& stream, const Closeness& closeness, const View& a, const View& b, const View& out) noexcept {
  const Layout views[] = {Layout(a), Layout(b), Layout(out)};
  const auto range = HWY_DYNAMIC_DISPATCH(close_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(closeness, views, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
