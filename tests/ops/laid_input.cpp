#include "laid_input.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/type_list.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

// Bytes before the first element; a multiple of every dtype's size.
constexpr int64_t kMarginBytes = 64;

int repeated_dim(const Shape& shape, Layout layout) {
  int found = -1;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] < 2) continue;
    if (layout == Layout::kRepeatedLast || found < 0) found = d;
  }
  return found;
}

bool is_repeated(Layout layout) { return layout == Layout::kRepeatedFirst || layout == Layout::kRepeatedLast; }

Shape strides_of(const Shape& shape, Layout layout) {
  Shape strides = contiguous_strides(shape);
  if (is_repeated(layout)) {
    const int dim = repeated_dim(shape, layout);
    if (dim >= 0) strides[dim] = 0;
  } else if (layout == Layout::kGaps) {
    int64_t step = 2;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      strides[d] = step;
      step = step * std::max<int64_t>(1, shape[d]) + 3;
    }
  } else if (layout == Layout::kReversed) {
    int64_t step = 1;
    for (int d = 0; d < shape.rank(); ++d) {
      strides[d] = step;
      step = step * std::max<int64_t>(1, shape[d]) + 1;
    }
  }
  return strides;
}

// Number of elements from the first to the last in memory.
int64_t reach_of(const Shape& shape, const Shape& strides) {
  int64_t reach = 1;
  for (int d = 0; d < shape.rank(); ++d) reach += std::max<int64_t>(0, shape[d] - 1) * strides[d];
  return reach;
}

template <class T>
T nearest(double value) {
  if constexpr (requires { T::from(0.0f); }) {
    return T::from(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Draws give floats between -2 and 2; integers get small integers instead, and 0 stays 0.
double as_integer(double value, DType dtype) {
  if (!std::isfinite(value)) return 0;
  if (dtype == DType::kBool) return value > 0 ? 1 : 0;
  return std::floor((dtype == DType::kU8 && value < 0 ? value + 2 : value) * 2.5);
}

// Calls body(offset) for every element in row-major order, with a plain loop along the last dimension.
template <class Body>
void for_each_offset(const Shape& shape, const Shape& strides, Body&& body) {
  const int last = shape.rank() - 1;
  if (last < 0) return body(int64_t{0});
  for_each_index(Shape(shape.begin(), last), [&](const Shape& index) {
    int64_t offset = 0;
    for (int d = 0; d < last; ++d) offset += index[d] * strides[d];
    for (int64_t i = 0; i < shape[last]; ++i) body(offset + i * strides[last]);
  });
}

}  // namespace

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::kContiguous:
      return "contiguous";
    case Layout::kGaps:
      return "with gaps";
    case Layout::kReversed:
      return "in reversed order";
    case Layout::kRepeatedFirst:
      return "repeated along the first dimension";
    case Layout::kRepeatedLast:
      return "repeated along the last dimension";
  }
  return "";
}

void round_to(Array& array, DType dtype) {
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
    for (double& value : array.values) value = static_cast<double>(nearest<T>(value));
  });
}

Array draw_input(const OpInput& input, DType dtype, const Shapes& shapes, size_t which, Layout layout) {
  Array array(shapes[which]);
  std::mt19937 random(static_cast<uint32_t>(17 + which));
  const bool is_given = is_valid(input.dtype);
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = input.draw(random, shapes, i);
    array[i] = is_given || is_float(dtype) ? value : as_integer(value, dtype);
  }
  const int repeated = is_repeated(layout) ? repeated_dim(array.shape, layout) : -1;
  if (repeated >= 0) {
    int64_t i = 0;
    for_each_index(array.shape, [&](Shape index) {
      index[repeated] = 0;
      array[i++] = array[place_of(array.shape, index)];
    });
  }
  round_to(array, is_given ? input.dtype : dtype);
  return array;
}

LaidInput::LaidInput(ContextDevice& device, DType dtype, const Array& values, Layout layout) {
  const Shape strides = strides_of(values.shape, layout);
  const auto width = static_cast<int64_t>(size_of(dtype));
  const int64_t margin = kMarginBytes / width;
  const int64_t count = 2 * margin + reach_of(values.shape, strides);
  bytes_.assign(static_cast<size_t>(count * width), std::byte{0xff});
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
    int64_t i = 0;
    for_each_offset(values.shape, strides, [&](int64_t offset) {
      const T element = nearest<T>(values[i++]);
      std::memcpy(bytes_.data() + (margin + offset) * width, &element, sizeof element);
    });
  });
  before_ = bytes_;
  whole_ = device.device->host_accessible() ? from_buffer(device, dtype, {count}, bytes_.data())
                                            : from_host(device, dtype, {count}, bytes_.data());
  tensor_ = whole_.as_strided(values.shape, strides, margin);
}

bool LaidInput::is_unchanged() const {
  if (whole_.device().device->host_accessible()) return bytes_ == before_;
  std::vector<std::byte> now(before_.size());
  read_to_host(whole_, whole_.dtype(), now.data());
  return now == before_;
}

std::vector<double> elements_of(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(static_cast<size_t>(tensor.numel()));
  try_visit_dtype(AllTypes{}, tensor.dtype(), [&]<class T>() {
    const auto* data = static_cast<const T*>(tensor.data());
    for_each_offset(tensor.shape(), tensor.strides(),
                    [&](int64_t offset) { result.push_back(static_cast<double>(data[offset])); });
  });
  return result;
}

}  // namespace halftone
