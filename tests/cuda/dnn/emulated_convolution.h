// Convolutions of the emulated cuDNN by plain loops, in FP32. Used by emulated_cudnn.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "cuda/dnn/api.h"

namespace halftone::cuda {

struct DnnTensor {
  DnnType type{};
  int64_t sizes[4] = {};
  int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};
struct DnnFilter : DnnTensor {};
struct DnnConvolution {
  int64_t padding[2] = {};
  int64_t stride[2] = {};
  int64_t dilation[2] = {};
  int64_t groups = 1;
  DnnType sums{};
  DnnMath math = DnnMath::kDefault;
};

}  // namespace halftone::cuda

namespace emulation {

using namespace halftone::cuda;

inline float load(const void* data, DnnType type, int64_t i) {
  if (type == DnnType::kFloat) return static_cast<const float*>(data)[i];
  if (type == DnnType::kHalf) return static_cast<const halftone::Float16*>(data)[i];
  return static_cast<const halftone::BFloat16*>(data)[i];
}

inline void store(void* data, DnnType type, int64_t i, float value) {
  if (type == DnnType::kFloat) {
    static_cast<float*>(data)[i] = value;
  } else if (type == DnnType::kHalf) {
    static_cast<halftone::Float16*>(data)[i] = halftone::Float16::from(value);
  } else {
    static_cast<halftone::BFloat16*>(data)[i] = halftone::BFloat16::from(value);
  }
}

// 10 bits after the point, as tensor cores read FP32.
inline float as_tf32(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Convolution {
  DnnTensor x, y;
  DnnFilter w;
  DnnConvolution window;

  bool is_valid() const {
    if (x.type != y.type || x.type != w.type || window.sums != DnnType::kFloat) return false;
    if (x.sizes[0] != y.sizes[0] || x.sizes[1] != w.sizes[1] * window.groups) return false;
    if (y.sizes[1] != w.sizes[0] || w.sizes[0] % window.groups != 0) return false;
    for (int d = 0; d < 2; ++d) {
      const int64_t reach = window.dilation[d] * (w.sizes[2 + d] - 1) + 1;
      const int64_t size = x.sizes[2 + d] + 2 * window.padding[d];
      if (size < reach || y.sizes[2 + d] != (size - reach) / window.stride[d] + 1) return false;
    }
    return true;
  }

  std::vector<float> read(const DnnTensor& of, const void* data) const {
    std::vector<float> values(static_cast<size_t>(of.count()));
    const bool rounds = of.type == DnnType::kFloat && window.math != DnnMath::kFma;
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = load(data, of.type, static_cast<int64_t>(i));
      values[i] = rounds ? as_tf32(value) : value;
    }
    return values;
  }

  // Calls `term` with the places in x, w and y of each product.
  template <class Term>
  void visit(const Term& term) const {
    for (int64_t i = 0; i < y.count(); ++i) visit_window(i, term);
  }

 private:
  template <class Term>
  void visit_window(int64_t at, const Term& term) const {
    const int64_t column = at % y.sizes[3], row = at / y.sizes[3] % y.sizes[2];
    const int64_t o = at / (y.sizes[3] * y.sizes[2]) % y.sizes[1], n = at / (y.sizes[3] * y.sizes[2] * y.sizes[1]);
    const int64_t first = o / (y.sizes[1] / window.groups) * w.sizes[1];
    for (int64_t i = 0; i < w.sizes[1] * w.sizes[2] * w.sizes[3]; ++i) {
      const int64_t c = i / (w.sizes[2] * w.sizes[3]);
      const int64_t p = row * window.stride[0] + i / w.sizes[3] % w.sizes[2] * window.dilation[0] - window.padding[0];
      const int64_t q = column * window.stride[1] + i % w.sizes[3] * window.dilation[1] - window.padding[1];
      if (p < 0 || p >= x.sizes[2] || q < 0 || q >= x.sizes[3]) continue;
      term(((n * x.sizes[1] + first + c) * x.sizes[2] + p) * x.sizes[3] + q,
           o * w.sizes[1] * w.sizes[2] * w.sizes[3] + i, at);
    }
  }
};

// The end of a result: sums + kept * (what is there) + a bias of its channels, rounded once.
struct Ending {
  float kept = 0;
  const void* bias = nullptr;
};

inline void finish(const DnnTensor& of, void* data, const std::vector<float>& sums, const Ending& ending) {
  const int64_t plane = of.sizes[2] * of.sizes[3];
  for (int64_t i = 0; i < of.count(); ++i) {
    float value = sums[static_cast<size_t>(i)];
    if (ending.kept != 0) value += ending.kept * load(data, of.type, i);
    if (ending.bias != nullptr) value += load(ending.bias, of.type, i / plane % of.sizes[1]);
    store(data, of.type, i, value);
  }
}

inline void convolve(const Convolution& of, const void* x, const void* w, void* y, const Ending& ending) {
  const std::vector<float> inputs = of.read(of.x, x), weights = of.read(of.w, w);
  std::vector<float> sums(static_cast<size_t>(of.y.count()));
  of.visit([&](int64_t i, int64_t j, int64_t at) { sums[at] = std::fmaf(inputs[i], weights[j], sums[at]); });
  finish(of.y, y, sums, ending);
}

inline void convolve_back_to_input(const Convolution& of, void* dx, const void* w, const void* dy,
                                   const Ending& ending) {
  const std::vector<float> weights = of.read(of.w, w), grads = of.read(of.y, dy);
  std::vector<float> sums(static_cast<size_t>(of.x.count()));
  of.visit([&](int64_t i, int64_t j, int64_t at) { sums[i] = std::fmaf(grads[at], weights[j], sums[i]); });
  finish(of.x, dx, sums, ending);
}

inline void convolve_back_to_weight(const Convolution& of, const void* x, void* dw, const void* dy,
                                    const Ending& ending) {
  const std::vector<float> inputs = of.read(of.x, x), grads = of.read(of.y, dy);
  std::vector<float> sums(static_cast<size_t>(of.w.count()));
  of.visit([&](int64_t i, int64_t j, int64_t at) { sums[j] = std::fmaf(grads[at], inputs[i], sums[j]); });
  finish(of.w, dw, sums, ending);
}

}  // namespace emulation
