// Tiles of 256 elements in the optimizer's passes: a warp takes one, and each lane 8 adjacent elements of it, which are
// the elements of one Philox block. Device code.
#pragma once

#include "backend/chunks.h"
#include "backend/kernels/optim.h"
#include "cuda/base/element.h"
#include "cuda/base/launch.h"

namespace halftone::cuda {

inline constexpr int64_t kTilesPerChunk = kChunkSize / kBlockSize;
// A chunk is shared by this many blocks, so that small models fill the device.
inline constexpr int64_t kPartsPerChunk = 2;
inline constexpr int kWarpsPerBlock = kThreads / kWarp;

// One lane's elements [begin, begin + count) of a tile, counted in the slot.
struct Part {
  int64_t tile_begin;
  int tile_count;
  int64_t begin;
  int count;  // at most kTile; 0 behind the end
};

HALFTONE_DEVICE inline int lane_of_thread() { return static_cast<int>(threadIdx.x) % kWarp; }
HALFTONE_DEVICE inline int warp_of_thread() { return static_cast<int>(threadIdx.x) / kWarp; }

HALFTONE_DEVICE inline int clamped_count(int64_t count, int most) {
  return static_cast<int>(count < 0 ? 0 : (count > most ? most : count));
}

HALFTONE_DEVICE inline Part part_of_lane(int64_t tile_begin, int64_t end) {
  const int64_t begin = tile_begin + lane_of_thread() * kTile;
  return {tile_begin, clamped_count(end - tile_begin, kBlockSize), begin, clamped_count(end - begin, kTile)};
}

// Calls f(chunk, first tile, last tile) for the parts of chunks that the block takes.
template <class Slot, class F>
HALFTONE_DEVICE inline void for_each_chunk_part(const MultiTensor<Slot>& tensors, F&& f) {
  constexpr int64_t kTiles = kTilesPerChunk / kPartsPerChunk;
  for (int64_t i = blockIdx.x; i < tensors.chunk_count * kPartsPerChunk; i += gridDim.x) {
    const int64_t first = i % kPartsPerChunk * kTiles;
    f(tensors.chunks[i / kPartsPerChunk], first, first + kTiles);
  }
}

// Calls f(part) for the tiles of a part of a chunk that the thread's warp takes.
template <class F>
HALFTONE_DEVICE inline void for_each_tile(const Chunk& chunk, int64_t first, int64_t last, F&& f) {
  for (int64_t tile = first + warp_of_thread(); tile < last; tile += kWarpsPerBlock) {
    const int64_t begin = chunk.begin + tile * kBlockSize;
    if (begin < chunk.end) f(part_of_lane(begin, chunk.end));
  }
}

template <class Slot>
Grid grid_for_parts(const MultiTensor<Slot>& tensors) {
  return grid_for_rows(tensors.chunk_count * kPartsPerChunk, kThreads);
}

// ---- A lane's elements in memory

template <class T>
HALFTONE_DEVICE inline bool is_whole(const T* data, const Part& part) {
  return part.count == kTile && reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

// Elements behind the end become 0.
template <class T>
HALFTONE_DEVICE inline void load_raw(const T* data, const Part& part, T (&values)[kTile]) {
  using Buffer = TileBuffer<T>;
  Buffer buffer;
  if (is_whole(data, part)) {
    const auto* packs = reinterpret_cast<const Pack<Buffer::kPackBytes>*>(data + part.begin);
#pragma unroll
    for (int p = 0; p < Buffer::kPacks; ++p) buffer.packs[p] = packs[p];
  } else {
#pragma unroll
    for (int k = 0; k < kTile; ++k) buffer.elements[k] = k < part.count ? data[part.begin + k] : T{};
  }
#pragma unroll
  for (int k = 0; k < kTile; ++k) values[k] = buffer.elements[k];
}

template <class T>
HALFTONE_DEVICE inline void store_raw(T* data, const Part& part, const T (&values)[kTile]) {
  using Buffer = TileBuffer<T>;
  if (is_whole(data, part)) {
    Buffer buffer;
#pragma unroll
    for (int k = 0; k < kTile; ++k) buffer.elements[k] = values[k];
    auto* packs = reinterpret_cast<Pack<Buffer::kPackBytes>*>(data + part.begin);
#pragma unroll
    for (int p = 0; p < Buffer::kPacks; ++p) packs[p] = buffer.packs[p];
    return;
  }
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    if (k < part.count) data[part.begin + k] = values[k];
  }
}

// As load_raw and store_raw, converted from and to FP32.
HALFTONE_DEVICE inline void load_part(const void* data, DType dtype, const Part& part, float (&values)[kTile]) {
  visit_element_type(dtype, [&]<class T>() {
    T raw[kTile];
    load_raw(static_cast<const T*>(data), part, raw);
#pragma unroll
    for (int k = 0; k < kTile; ++k) values[k] = widen<float>(raw[k]);
  });
}

HALFTONE_DEVICE inline void store_part(void* data, DType dtype, const Part& part, const float (&values)[kTile]) {
  visit_element_type(dtype, [&]<class T>() {
    T raw[kTile];
#pragma unroll
    for (int k = 0; k < kTile; ++k) raw[k] = narrow<T>(values[k]);
    store_raw(static_cast<T*>(data), part, raw);
  });
}

}  // namespace halftone::cuda
