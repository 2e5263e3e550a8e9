// Products of a warp on tensor cores: c [16, 8] += a [16, 16] b [16, 8], sums in FP32, and the loads of their parts
// from shared memory. A lane holds a part of each matrix, which the PTX manual calls a fragment ("Matrix Fragments for
// mma.m16n8k16 with floating point type", "ldmatrix"). Each function has one form for GPUs, in PTX, and one for the
// emulation of the tests, by the same tables of places. Device code; all lanes of a warp call these functions.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/host_device.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "cuda/base/device_code.h"

namespace halftone::cuda {

struct MatrixPlace {
  int row, column;
};

// A lane's element i of a: 8 elements in 4 words.
HALFTONE_HOST_DEVICE constexpr MatrixPlace place_in_a(int lane, int i) {
  return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8};
}
// Element i of b: 4 elements in 2 words.
HALFTONE_HOST_DEVICE constexpr MatrixPlace place_in_b(int lane, int i) {
  return {lane % 4 * 2 + i % 2 + i / 2 * 8, lane / 4};
}
// Element i of c: 4 floats.
HALFTONE_HOST_DEVICE constexpr MatrixPlace place_in_c(int lane, int i) {
  return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}
// Element i, of 2, of a matrix [8, 8] that a lane gets from shared memory.
HALFTONE_HOST_DEVICE constexpr MatrixPlace place_in_loaded(int lane, int i) { return {lane / 4, lane % 4 * 2 + i}; }

// An address of shared memory: a number of 32 bits, so that addresses cost few registers.
using SharedAddress = uint32_t;

#ifdef __CUDACC__

HALFTONE_DEVICE inline SharedAddress dynamic_shared_address() {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(dynamic_shared()));
}

// Four matrices [8, 8] of elements of 16 bits. Lane l gives the address of row l % 8 of matrix l / 8, 16 bytes.
HALFTONE_DEVICE inline void load_matrices(SharedAddress row, uint32_t (&out)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row)
               : "memory");
}
// As load_matrices, each matrix transposed.
HALFTONE_DEVICE inline void load_transposed(SharedAddress row, uint32_t (&out)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row)
               : "memory");
}

template <class T>
HALFTONE_DEVICE inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Two numbers rounded to T, the first in the lower half.
template <class T>
HALFTONE_DEVICE inline uint32_t pack_pair(float first, float second) {
  uint32_t word;
  if constexpr (std::is_same_v<T, BFloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

// 2^x within 2 units in the last place; results below the smallest normal number are 0.
HALFTONE_DEVICE inline float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

#else

HALFTONE_DEVICE inline SharedAddress dynamic_shared_address() { return 0; }

inline unsigned char* shared_bytes_at(SharedAddress address) {
  return static_cast<unsigned char*>(dynamic_shared()) + address;
}

inline uint16_t loaded_element(const SharedAddress (&rows)[32], int matrix, const MatrixPlace& place) {
  uint16_t element;
  std::memcpy(&element, shared_bytes_at(rows[8 * matrix + place.row]) + 2 * place.column, sizeof element);
  return element;
}

inline void load_matrices(SharedAddress row, uint32_t (&out)[4]) {
  emulation::read_warp(row, [&](const SharedAddress(&rows)[32]) {
    for (int m = 0; m < 4; ++m) {
      const uint32_t low = loaded_element(rows, m, place_in_loaded(emulation::lane(), 0));
      const uint32_t high = loaded_element(rows, m, place_in_loaded(emulation::lane(), 1));
      out[m] = low | high << 16;
    }
  });
}
inline void load_transposed(SharedAddress row, uint32_t (&out)[4]) {
  emulation::read_warp(row, [&](const SharedAddress(&rows)[32]) {
    for (int m = 0; m < 4; ++m) {
      const MatrixPlace low = place_in_loaded(emulation::lane(), 0);
      const MatrixPlace high = place_in_loaded(emulation::lane(), 1);
      out[m] = loaded_element(rows, m, {low.column, low.row}) |
               static_cast<uint32_t>(loaded_element(rows, m, {high.column, high.row})) << 16;
    }
  });
}

// Element i of words of two elements each.
template <class T>
float element_of(const uint32_t* words, int i) {
  return T{static_cast<uint16_t>(words[i / 2] >> i % 2 * 16)};
}

template <class T>
void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Parts {
    uint32_t a[4], b[2];
  };
  const Parts own = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  emulation::read_warp(own, [&](const Parts(&parts)[32]) {
    float rows[2][16];     // the two rows of a that the lane needs
    float columns[16][2];  // and the two columns of b
    const MatrixPlace first = place_in_c(emulation::lane(), 0);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8 && place_in_a(lane, 0).row == first.row; ++i) {
        const MatrixPlace place = place_in_a(lane, i);
        rows[place.row / 8][place.column] = element_of<T>(parts[lane].a, i);
      }
      const int column = place_in_b(lane, 0).column - first.column;
      for (int i = 0; i < 4 && (column == 0 || column == 1); ++i) {
        columns[place_in_b(lane, i).row][column] = element_of<T>(parts[lane].b, i);
      }
    }
    for (int i = 0; i < 4; ++i) {
      const MatrixPlace place = place_in_c(emulation::lane(), i);
      for (int k = 0; k < 16; ++k) c[i] += rows[place.row / 8][k] * columns[k][place.column - first.column];
    }
  });
}

template <class T>
uint32_t pack_pair(float first, float second) {
  return T::from(first).bits | static_cast<uint32_t>(T::from(second).bits) << 16;
}

inline float power_of_two(float x) {
  const float result = std::exp2(x);
  return std::fabs(result) < 0x1p-126f ? 0.0f : result;
}

#endif

}  // namespace halftone::cuda
