#include "tensor/linspace.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

void require_finite(double value, const char* name) {
  if (!std::isfinite(value)) fail(Code::kInvalidArgument, name, "%s=%g is not finite", name, value);
}

void require_numbers(DType dtype, const Linspace& numbers) {
  if (dtype == DType::kBool) fail(Code::kInvalidArgument, "dtype", "dtype=bool, expected numbers");
  require_finite(numbers.start, "start");
  require_finite(numbers.end, "end");
  if (!std::isfinite(numbers.end - numbers.start)) {
    fail(Code::kInvalidArgument, "end", "end=%g is farther from start=%g than the largest number", numbers.end,
         numbers.start);
  }
}

}  // namespace

// Each half counts from its own end, as in PyTorch: the last number is exactly `end`.
Tensor linspace(ContextDevice& device, DType dtype, const Linspace& numbers) {
  require_numbers(dtype, numbers);
  const auto& [start, end, count] = numbers;
  const Shape shape = checked_shape(&count, 1, "count");
  std::vector<double> values(static_cast<size_t>(count), start);
  const double step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 1; i < count; ++i) {
    const bool is_near_start = i < count / 2;
    values[static_cast<size_t>(i)] =
        is_near_start ? start + step * static_cast<double>(i) : end - step * static_cast<double>(count - 1 - i);
  }
  const Tensor exact = from_host(device, DType::kF64, shape, values.data(), Category::kOther);
  return dtype == DType::kF64 ? exact : converted(exact, dtype, Category::kOther);
}

Tensor eye(ContextDevice& device, DType dtype, const Shape& shape) {
  Tensor result = full(device, dtype, shape, 0.0, Category::kOther);
  const int64_t length = std::min(shape[0], shape[1]);
  fill(result.as_strided({length}, {shape[1] + 1}, 0), 1.0);
  return result;
}

}  // namespace halftone
