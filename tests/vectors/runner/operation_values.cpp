#include "runner/operation_values.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace vectors {
namespace {

struct Described {
  htone_dtype dtype;
  std::vector<int64_t> shape;
  Json numbers;
};

std::vector<int64_t> shape_of(const Json& nested) {
  std::vector<int64_t> shape;
  for (const Json* level = &nested; level->is_array(); level = &(*level)[0]) {
    shape.push_back(static_cast<int64_t>(level->size()));
  }
  return shape;
}

Described described(const Json& given) {
  for (const auto& [key, value] : given.items()) {
    if (key == "shape" || key == "grad") continue;
    return {dtype_of(key), given.contains("shape") ? given["shape"].get<std::vector<int64_t>>() : shape_of(value),
            flattened(value)};
  }
  throw Mismatch("a tensor without a dtype");
}

bool is_float(htone_dtype dtype) { return dtype <= HTONE_F8E5M2; }

htone_dtype dtype_of_tensor(htone_tensor* tensor) {
  htone_dtype dtype = HTONE_F32;
  ok(htone_tensor_dtype(tensor, &dtype));
  return dtype;
}

std::vector<int64_t> shape_of_tensor(htone_tensor* tensor) {
  std::array<int64_t, HTONE_MAX_NDIM> shape = {};
  int32_t ndim = 0;
  ok(htone_tensor_shape(tensor, shape.data(), HTONE_MAX_NDIM, &ndim));
  return {shape.begin(), shape.begin() + ndim};
}

Tensor make_tensor(htone_device* device, htone_dtype dtype, const std::vector<int64_t>& shape, const Json& numbers) {
  const auto ndim = static_cast<int32_t>(shape.size());
  const auto from = [&](htone_dtype wide, const void* data) {
    const Tensor source = make<Tensor>(htone_tensor_create_copy, device, wide, ndim, shape.data(), data);
    return make<Tensor>(htone_cast, source.get(), dtype);
  };
  if (is_float(dtype)) return from(HTONE_F64, numbers_of(numbers).data());
  return from(HTONE_I64, numbers.get<std::vector<int64_t>>().data());
}

template <class Number>
std::vector<Number> read(htone_tensor* tensor, htone_dtype wide) {
  int64_t count = 0;
  ok(htone_tensor_numel(tensor, &count));
  std::vector<Number> numbers(static_cast<size_t>(count) + 1);  // never empty, so data() is not NULL
  ok(htone_tensor_read(tensor, wide, numbers.data(), static_cast<size_t>(count) * sizeof(Number)));
  numbers.pop_back();
  return numbers;
}

bool is_close(double actual, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  return std::fabs(actual - expected) <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

std::string text_of(const std::vector<double>& numbers) {
  std::string text = "[";
  char number[40];
  for (const double each : numbers) {
    std::snprintf(number, sizeof number, text.size() > 1 ? ", %.9g" : "%.9g", each);
    text += number;
  }
  return text + "]";
}

// The decimals of an f64 are exact; those of other dtypes give the nearest FP32.
std::vector<double> wanted_numbers(htone_dtype dtype, const Json& expected) {
  std::vector<double> numbers = numbers_of(expected);
  if (dtype == HTONE_F64) return numbers;
  for (double& number : numbers) number = static_cast<float>(number);
  return numbers;
}

// If results must be exact, the signs of zeros count.
bool is_right(double actual, double expected, const Tolerance& tolerance, bool sees_signs) {
  const bool is_exact = tolerance.relative == 0 && tolerance.absolute == 0;
  if (sees_signs && is_exact && expected == 0 && std::signbit(actual) != std::signbit(expected)) return false;
  return is_close(actual, expected, tolerance);
}

void compare_floats(htone_tensor* tensor, const Json& expected, const Tolerance& tolerance, bool sees_signs) {
  const std::vector<double> actual = read<double>(tensor, HTONE_F64);
  const std::vector<double> wanted = wanted_numbers(dtype_of_tensor(tensor), expected);
  bool right = actual.size() == wanted.size();
  for (size_t i = 0; right && i < wanted.size(); ++i) right = is_right(actual[i], wanted[i], tolerance, sees_signs);
  if (!right) throw Mismatch("is " + text_of(actual) + ", expected " + text_of(wanted));
}

void compare_integers(htone_tensor* tensor, const Json& expected) {
  const std::vector<int64_t> actual = read<int64_t>(tensor, HTONE_I64);
  if (Json(actual) != expected) throw Mismatch("is " + Json(actual).dump() + ", expected " + expected.dump());
}

}  // namespace

Json flattened(const Json& nested) {
  if (!nested.is_array()) return Json::array({nested});
  Json numbers = Json::array();
  for (const Json& entry : nested) {
    for (const Json& number : flattened(entry)) numbers.push_back(number);
  }
  return numbers;
}

Tensor tensor_of(htone_device* device, const Json& given) {
  if (given.is_null()) return nullptr;
  const Described wanted = described(given);
  Tensor tensor = make_tensor(device, wanted.dtype, wanted.shape, wanted.numbers);
  if (given.value("grad", false)) ok(htone_tensor_set_requires_grad(tensor.get(), 1));
  return tensor;
}

Tensor tensor_like(htone_device* device, htone_tensor* model, const Json& numbers) {
  return make_tensor(device, dtype_of_tensor(model), shape_of_tensor(model), numbers);
}

void compare_tensor(htone_tensor* actual, const Json& expected, const Tolerance& tolerance) {
  const Described wanted = described(expected);
  const htone_dtype dtype = dtype_of_tensor(actual);
  if (dtype != wanted.dtype) throw Mismatch("has the dtype " + std::string(htone_dtype_name(dtype)));
  const std::vector<int64_t> shape = shape_of_tensor(actual);
  if (shape != wanted.shape) throw Mismatch("has the shape " + Json(shape).dump());
  if (!is_float(dtype)) return compare_integers(actual, wanted.numbers);
  compare_floats(actual, wanted.numbers, tolerance, true);
}

void compare_numbers(htone_tensor* actual, const Json& expected, const Tolerance& tolerance) {
  compare_floats(actual, expected, tolerance, false);
}

}  // namespace vectors
