// Shared by the tests of reductions: shapes of results, and the inputs of each output. Used from one thread.
#pragma once

#include <functional>
#include <vector>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {

// The input's shape with the reduced dimensions at size 1.
inline Shape reduced_shape(const Shape& shape, uint32_t dims) {
  Shape out = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((dims >> i & 1) != 0) out[i] = 1;
  }
  return out;
}

// For every output in row-major order, the row-major indices of its inputs.
inline std::vector<std::vector<int64_t>> terms_of(const Shape& shape, const Shape& out_shape) {
  const Shape strides = contiguous_strides(out_shape);
  std::vector<std::vector<int64_t>> terms(static_cast<size_t>(numel(out_shape)));
  for (int64_t i = 0; i < numel(shape); ++i) {
    int64_t rest = i, at = 0;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (out_shape[d] != 1) at += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    terms[static_cast<size_t>(at)].push_back(i);
  }
  return terms;
}

inline Status with_stream(int threads, const std::function<Status(Stream&)>& call) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return call(stream);
}

struct ReduceCase {
  Shape shape;
  Shape strides;
};

// Contiguous, transposed with a gap, every second element, one row repeated; sizes around blocks and strips.
inline const ReduceCase kReduceCases[] = {
    {{1}, {1}},
    {{257}, {1}},
    {{70001}, {1}},
    {{3, 5, 2, 7}, {70, 14, 7, 1}},
    {{70, 90}, {1, 71}},
    {{70, 90}, {190, 2}},
    {{70, 90}, {0, 1}},
    {{5000, 10}, {10, 1}},
    {{10, 5000}, {5000, 1}},
    {{4, 30, 6}, {7, 29, 1000}},
    {{0, 3}, {3, 1}},
    {{}, {}},
};

}  // namespace halftone
