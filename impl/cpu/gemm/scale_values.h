// The value of a scale by a table of its codes: packing needs one for every 16 or 32 elements. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>

#include "backend/formula/block_scale.h"

namespace halftone::cpu {

template <class Code>
constexpr std::array<float, 256> values_of_codes() {
  std::array<float, 256> values = {};
  for (uint32_t code = 0; code < 256; ++code) values[code] = Code{static_cast<uint8_t>(code)};
  return values;
}

inline constexpr std::array<float, 256> kValuesOfE8M0 = values_of_codes<ScaleE8M0>();
inline constexpr std::array<float, 256> kValuesOfE4M3 = values_of_codes<Float8E4M3>();

// As formula/block_scale.h has it.
inline float table_value(const BlockScales& scales, int64_t index) {
  if (scales.format == ScaleFormat::kE8M0) return kValuesOfE8M0[static_cast<const uint8_t*>(scales.data)[index]];
  if (scales.format == ScaleFormat::kE4M3) return kValuesOfE4M3[static_cast<const uint8_t*>(scales.data)[index]];
  return static_cast<const float*>(scales.data)[index];
}

}  // namespace halftone::cpu
