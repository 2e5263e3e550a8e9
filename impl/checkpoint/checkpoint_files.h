// The files of one checkpoint, without the order in which they are published (directory.h). One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {

inline constexpr const char* kIndexName = "index.json";

// Writes the tensors of the only rank into `folder` and makes them durable, so that no power failure leaves an index
// without them. Returns that index. Throws IO, FORMAT.
Index write_tensors(const Io& io, const std::string& folder, int64_t step, const std::string& save_id,
                    const StateDict& state);
// Returns whether a save of any number of ranks writes a file of this name, final or temporary.
bool is_file_of_checkpoint(const std::string& name);
// The files that a save may leave in a folder, and then the folder, in the order in which to remove them.
std::vector<std::string> paths_in(const std::string& folder);
// Makes the checkpoint exist. Everything in `folder` is durable when this returns.
void write_index(const Io& io, const std::string& folder, const Index& index);

// Compares every byte with its checksum. Throws FORMAT, IO, UNSUPPORTED.
StateDict read_checkpoint(const Io& io, const std::string& folder, int64_t step, ContextDevice& device);
// Does what read_checkpoint() does, but keeps nothing.
void verify_checkpoint(const Io& io, const std::string& folder, int64_t step);

}  // namespace halftone::checkpoint
