#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise/unary.cpp"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/elementwise/entries.h"
#include "backend/cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "backend/cpu/elementwise/map.h"
#include "backend/cpu/simd/gelu.h"
#include "backend/cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <UnaryOp op, class D, class V>
HWY_INLINE V apply(D d, V x) {
  if constexpr (op == UnaryOp::kNegate) return hn::Neg(x);
  // NaN is not below or equal to zero and stays; -0 becomes 0.
  if constexpr (op == UnaryOp::kRelu) return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
  if constexpr (op == UnaryOp::kGeluErf) return gelu_erf(d, x);
  if constexpr (op == UnaryOp::kGeluTanh) return gelu_tanh(d, x);
}

template <UnaryOp op, class C>
void float_row(const C* x, C* out, int64_t count) {
  const hn::ScalableTag<C> d;
  for_each_vector(
      d, count, [&](auto value) HWY_ATTR { return apply<op>(d, value); }, out, x);
}

// Unsigned, so that overflow wraps.
template <UnaryOp op>
void integer_row(const int64_t* x, int64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (op == UnaryOp::kNegate) out[i] = static_cast<int64_t>(0 - static_cast<uint64_t>(x[i]));
    if constexpr (op == UnaryOp::kRelu) out[i] = x[i] > 0 ? x[i] : 0;
  }
}

template <UnaryOp op, class C>
void row(const C* x, C* out, int64_t count) {
  if constexpr (std::is_integral_v<C>) {
    integer_row<op>(x, out, count);
  } else {
    float_row<op>(x, out, count);
  }
}

template <class C>
using Row = void (*)(const C*, C*, int64_t);

template <class C>
Row<C> row_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNegate:
      return row<UnaryOp::kNegate, C>;
    case UnaryOp::kRelu:
      return row<UnaryOp::kRelu, C>;
    case UnaryOp::kGeluErf:
      return row<UnaryOp::kGeluErf, C>;
    case UnaryOp::kGeluTanh:
      return row<UnaryOp::kGeluTanh, C>;
  }
  return nullptr;
}

void unary_range(UnaryOp op, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  with_compute_type(out.dtype(), [&]<class C>() { map_range<C>(row_of<C>(op), out, begin, end, x); });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(unary_range);

namespace {

bool has_integer_form(UnaryOp op) { return op <= UnaryOp::kRelu; }

// GELU costs several times what the others do.
int64_t grain_of(UnaryOp op) { return has_integer_form(op) ? kChunkSize : kChunkSize / 4; }

}  // namespace

Status unary(Stream& stream, UnaryOp op, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype) && !has_integer_form(op)) {
    return Status::failure(Code::kUnsupported, "this operation has no kernel for %s", name_of(out.dtype));
  }
  const Layout x_layout(x);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(unary_range);
  for_each_range(pool_of(stream), out.numel(), grain_of(op),
                 [&](int64_t begin, int64_t end) { range(op, x_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
