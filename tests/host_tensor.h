// A tensor for kernel tests, with any dtype and strides. Values are set and read as double. Every byte before, between
// and after the elements is a guard. Used from one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "backend/view.h"
#include "core/type_list.h"

namespace halftone {

class HostTensor {
 public:
  HostTensor(DType dtype, const Shape& shape) : HostTensor(dtype, shape, contiguous_strides(shape)) {}

  HostTensor(DType dtype, const Shape& shape, const Shape& strides) {
    int64_t last = 0;
    for (int i = 0; i < shape.rank(); ++i) last += std::max<int64_t>(0, shape[i] - 1) * strides[i];
    const size_t width = size_of(dtype);
    bytes_.assign(static_cast<size_t>(last + 1) * width + 2 * kGuardBytes, std::byte{kGuard});
    is_guard_.assign(bytes_.size(), true);
    view_ = {bytes_.data() + kGuardBytes, dtype, shape, strides};
    for (int64_t i = 0; i < numel(); ++i) {
      const size_t begin = static_cast<size_t>(offset(i)) * width + kGuardBytes;
      std::fill_n(is_guard_.begin() + static_cast<std::ptrdiff_t>(begin), width, false);
    }
  }
  HostTensor(const HostTensor& other) : bytes_(other.bytes_), is_guard_(other.is_guard_), view_(other.view_) {
    view_.data = bytes_.data() + kGuardBytes;
  }
  HostTensor& operator=(const HostTensor&) = delete;

  const View& view() const { return view_; }
  void* data() const { return view_.data; }
  int64_t numel() const { return view_.numel(); }

  // Element i in row-major order.
  double get(int64_t i) const {
    double value = 0;
    visit([&]<class T>() { value = static_cast<double>(element<T>(i)); });
    return value;
  }
  void set(int64_t i, double value) {
    visit([&]<class T>() { put<T>(i, value); });
  }

  void fill_uniform(double low, double high, uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(low, high);
    for (int64_t i = 0; i < numel(); ++i) set(i, uniform(generator));
  }

  bool guards_hold() const {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (is_guard_[i] && bytes_[i] != std::byte{kGuard}) return false;
    }
    return true;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr size_t kGuardBytes = 64;
  static constexpr uint8_t kGuard = 0xa5;

  int64_t offset(int64_t i) const {
    int64_t offset = 0;
    for (int d = view_.rank() - 1; d >= 0; --d) {
      offset += i % view_.shape[d] * view_.strides[d];
      i /= view_.shape[d];
    }
    return offset;
  }
  template <class T>
  T element(int64_t i) const {
    T value;
    std::memcpy(&value, static_cast<const T*>(view_.data) + offset(i), sizeof value);
    return value;
  }
  template <class T>
  void put(int64_t i, double value) {
    T element;
    if constexpr (requires { T::from(0.0f); }) {
      element = T::from(static_cast<float>(value));
    } else {
      element = static_cast<T>(value);
    }
    std::memcpy(static_cast<T*>(view_.data) + offset(i), &element, sizeof element);
  }
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    try_visit_dtype(AllTypes{}, view_.dtype, visitor);
  }

  std::vector<std::byte> bytes_;
  std::vector<bool> is_guard_;
  View view_;
};

}  // namespace halftone
