#include "cuda/base/map.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

// 1 or 0 in the compute type of the inputs, which the store converts to bool.
template <CompareOp op, class C>
struct CompareOf {
  HALFTONE_DEVICE C operator()(C a, C b) const { return static_cast<C>(holds(a, b) ? 1 : 0); }

 private:
  HALFTONE_DEVICE static bool holds(C a, C b) {
    if constexpr (op == CompareOp::kEqual) return a == b;
    if constexpr (op == CompareOp::kNotEqual) return a != b;
    if constexpr (op == CompareOp::kLess) return a < b;
    if constexpr (op == CompareOp::kLessEqual) return a <= b;
    if constexpr (op == CompareOp::kLogicalAnd) return a != 0 && b != 0;
    if constexpr (op == CompareOp::kLogicalOr) return a != 0 || b != 0;
    if constexpr (op == CompareOp::kLogicalXor) return (a != 0) != (b != 0);
    if constexpr (op == CompareOp::kBothFinite) return is_finite(a) && is_finite(b);
    if constexpr (op == CompareOp::kEitherInfinite) return (a == a && !is_finite(a)) || (b == b && !is_finite(b));
  }
  HALFTONE_DEVICE static bool is_finite(C x) {
    if constexpr (std::is_integral_v<C>) {
      return true;
    } else {
      return x - x == 0;  // NaN for an infinity and for NaN
    }
  }
};

template <class C>
struct CloseTo {
  Closeness closeness;
  HALFTONE_DEVICE C operator()(C a, C b) const {
    return static_cast<C>(are_close(static_cast<double>(a), static_cast<double>(b), closeness) ? 1 : 0);
  }
};

}  // namespace

Status compare(Stream& stream, CompareOp op, const View& a, const View& b, const View& out) noexcept {
  return with_operation(op, [&]<CompareOp wanted>() {
    return with_compute_type(promote(a.dtype, b.dtype),
                             [&]<class C>() { return map<C>(stream, CompareOf<wanted, C>(), out, a, b); });
  });
}

Status close(Stream& stream, const Closeness& closeness, const View& a, const View& b, const View& out) noexcept {
  return with_compute_type(promote(a.dtype, b.dtype),
                           [&]<class C>() { return map<C>(stream, CloseTo<C>{closeness}, out, a, b); });
}

}  // namespace halftone::cuda
