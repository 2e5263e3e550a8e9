// Ranges of flat buffers as 8-bit floats with a scale: E4M3 codes, of which a number times the scale is the value. The
// formulas are those of the recipe CURRENT (backend/formula/scaling.h). Used by FlatWeights.
#pragma once

#include "tensor/tensor.h"

namespace halftone::parallel {

// Element `index` of a 1-D tensor.
inline Tensor element_of(const Tensor& numbers, size_t index) {
  return numbers.as_strided({}, {}, numbers.offset() + static_cast<int64_t>(index));
}

// scale = magnitude / 448, 1 for 0, and NaN for an infinity or NaN, under which every code is read as NaN. Both: one
// f32.
void set_scale(const Tensor& magnitude, const Tensor& scale);
// codes = values / scale, to nearest even. values: 1-D f32; codes: 1-D f8e4m3.
void encode(const Tensor& values, const Tensor& scale, const Tensor& codes);
// values = codes * scale. values: 1-D bf16.
void decode(const Tensor& codes, const Tensor& scale, const Tensor& values);

}  // namespace halftone::parallel
