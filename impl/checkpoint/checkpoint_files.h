// Writes the files of one checkpoint, without the order in which they are published (directory.h). Each rank writes a
// file with its tensors, and its ranges of tensors that ranks share. One of them merges what write_tensors() returned
// to all (merged_index.h), and writes the index. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {

inline constexpr const char* kIndexName = "index.json";

// A rank of those that write a checkpoint together.
struct SaveRank {
  int64_t step = 0;
  std::string save_id;  // equal on all ranks, different from every other save's
  int64_t rank = 0;
  int64_t world_size = 1;
};

// The index of this rank's file alone before it is written, without its size and its checksums.
Index unwritten_index(const SaveRank& save, const StateDict& state);
// Writes the tensors of one rank into `folder` and makes them durable, so that no power failure leaves an index without
// them. Returns the index of this rank's file alone. Throws IO, FORMAT.
Index write_tensors(const Io& io, const std::string& folder, const SaveRank& save, const StateDict& state);
// Returns whether a save of any number of ranks writes a file of this name, final or temporary.
bool is_file_of_checkpoint(const std::string& name);
// The files that a save of `world_size` ranks may leave in a folder, and then the folder, in the order in which to
// remove them.
std::vector<std::string> paths_in(const std::string& folder, int64_t world_size);
// Makes the checkpoint exist. Everything in `folder` is durable when this returns.
void write_index(const Io& io, const std::string& folder, const Index& index);

}  // namespace halftone::checkpoint
