// The files of one checkpoint, without the order in which they are published (directory.h). One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {

inline constexpr const char* kIndexName = "index.json";

// Writes the tensors of the only rank into `folder`, durably and under their name, so that no power failure leaves an
// index without them; answers that index. Throws IO, FORMAT.
Index write_tensors(const Io& io, const std::string& folder, int64_t step, const std::string& save_id,
                    const StateDict& state);
// Whether a save, of any number of ranks, gives a file in its folder this name, for good or until it is whole.
bool is_file_of_checkpoint(const std::string& name);
// All that a save may leave in a folder, whole or not, and the folder, in the order in which to remove it.
std::vector<std::string> paths_in(const std::string& folder);
// Makes the checkpoint exist: everything in `folder` is durable when this returns.
void write_index(const Io& io, const std::string& folder, const Index& index);

// Every byte is compared with its checksum. Throws FORMAT, IO, UNSUPPORTED.
StateDict read_checkpoint(const Io& io, const std::string& folder, int64_t step, ContextDevice& device);
// The same without keeping anything.
void verify_checkpoint(const Io& io, const std::string& folder, int64_t step);

}  // namespace halftone::checkpoint
