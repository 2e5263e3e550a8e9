#include "tensor/arange.h"

#include <cmath>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

// Sums and differences of whole numbers up to this are exact in double.
constexpr double kLargestWhole = 0x1p52;

struct NamedNumber {
  const char* name;
  double value;
};

void require_number(const NamedNumber& number, DType dtype) {
  if (!std::isfinite(number.value)) {
    fail(Code::kInvalidArgument, number.name, "%s=%g is not finite", number.name, number.value);
  }
  const bool is_whole = std::trunc(number.value) == number.value && std::fabs(number.value) <= kLargestWhole;
  if (is_integer(dtype) && !is_whole) {
    fail(Code::kInvalidArgument, number.name, "%s=%g, expected a whole number within +-2^52 for %s", number.name,
         number.value, name_of(dtype));
  }
}

void require_held(const NamedNumber& number, double value, DType dtype) {
  if (!is_integer(dtype) || dtype == DType::kI64) return;
  const double span = std::ldexp(1.0, 8 * static_cast<int>(size_of(dtype)));
  const double lowest = dtype == DType::kU8 ? 0 : -span / 2;
  if (value >= lowest && value < lowest + span) return;
  fail(Code::kInvalidArgument, number.name, "%s=%g makes %g an element, which %s does not hold", number.name,
       number.value, value, name_of(dtype));
}

int64_t count_of(const Arange& numbers) {
  if (numbers.step == 0) fail(Code::kInvalidArgument, "step", "step is 0");
  const double count = std::ceil((numbers.end - numbers.start) / numbers.step);
  if (count < 0) {
    fail(Code::kInvalidArgument, "step", "step=%g leads from start=%g away from end=%g", numbers.step, numbers.start,
         numbers.end);
  }
  if (!(count < 0x1p60)) {
    fail(Code::kInvalidArgument, "end", "end=%g is %g steps from start=%g, more than memory holds", numbers.end, count,
         numbers.start);
  }
  return static_cast<int64_t>(count);
}

}  // namespace

Tensor arange(ContextDevice& device, DType dtype, const Arange& numbers) {
  if (dtype == DType::kBool) fail(Code::kInvalidArgument, "dtype", "dtype=bool, expected numbers");
  const NamedNumber start = {"start", numbers.start};
  const NamedNumber end = {"end", numbers.end};
  require_number(start, dtype);
  require_number(end, dtype);
  require_number({"step", numbers.step}, dtype);
  const int64_t count = count_of(numbers);
  if (count > 0) {
    require_held(start, numbers.start, dtype);
    require_held(end, numbers.start + static_cast<double>(count - 1) * numbers.step, dtype);
  }
  Tensor result = empty(device, dtype, checked_shape(&count, 1, "end"), Category::kOther);
  launch("arange", device, &Kernels::convert, &ConvertKernels::arange, numbers.start, numbers.step, result.view());
  return result;
}

}  // namespace halftone
