#include "cpu/convert/fill.h"

#include <algorithm>
#include <cstring>

#include "core/conversion.h"
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/simd/layout.h"
#include "cpu/simd/ranges.h"
#include "cpu/simd/strided_block.h"

namespace halftone::cpu {

namespace {

// The value as one element of a dtype.
struct Element {
  alignas(8) std::byte bytes[8];
  size_t size;

  Element(double value, DType dtype) : bytes{}, size(size_of(dtype)) {
    try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
      T element;
      if constexpr (std::is_arithmetic_v<T>) {
        element = convert_number<T>(value);
      } else {
        // Round to odd first: `from` rounds to nearest, and two roundings to nearest in a row could differ from one.
        element = T::from(round_to_odd(value));
      }
      std::memcpy(bytes, &element, sizeof element);
    });
  }
  bool is_one_byte_repeated() const {
    return std::all_of(bytes, bytes + size, [&](std::byte byte) { return byte == bytes[0]; });
  }
};

void fill_run(const Element& element, const Strided& out, int64_t count) {
  if (out.stride == 1 && element.is_one_byte_repeated()) {
    std::memset(out.data, static_cast<int>(element.bytes[0]), static_cast<size_t>(count) * element.size);
  } else {
    copy_elements(element.size, element.bytes, 0, out.data, out.stride, count);
  }
}

}  // namespace

Status fill(Stream& stream, double value, const View& out) noexcept {
  const Element element(value, out.dtype);
  const Layout layout(out);
  for_each_range(pool_of(stream), out.numel(), [&](int64_t begin, int64_t end) {
    layout.for_each_run(begin, end - begin,
                        [&](const Strided& run, int64_t, int64_t count) { fill_run(element, run, count); });
  });
  return {};
}

}  // namespace halftone::cpu
