// index.json of a checkpoint: its step, its files, the place of each part of each tensor, the scalars, and a checksum
// for everything. A checkpoint exists when its index does. Plain data; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/tensor_parts.h"
#include "core/file.h"
#include "tensor/state_dict.h"

namespace halftone::checkpoint {

// Version 2 added boxes. An index without boxes is written as version 1, which older libraries read.
inline constexpr int64_t kFormatVersion = 2;

// rank-0-of-1.safetensors
struct IndexFile {
  std::string name;
  uint64_t size = 0;
  uint64_t header_checksum = 0;
};

struct Index {
  int64_t step = 0;
  std::string save_id;  // also in every file, to detect a mix of two saves
  std::vector<IndexFile> files;
  std::vector<IndexTensor> tensors;
  std::vector<NamedScalar> scalars;
};

// The name of the file that `rank` of `world_size` writes.
std::string file_name(int64_t rank, int64_t world_size);

std::string serialize(const Index& index);
// Throws IO; FORMAT if the index is damaged, UNSUPPORTED if its version is newer than this library.
Index read_index(const Io& io, const std::string& path);
// Reads what serialize() made of the index of one rank alone: it has one range of each of its tensors. Throws FORMAT.
Index parse_rank_index(const std::string& text);

}  // namespace halftone::checkpoint
