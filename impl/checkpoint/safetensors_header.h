// The header of a safetensors file: names, dtypes, shapes and offsets of its tensors, and metadata. The format is
// https://github.com/huggingface/safetensors: eight bytes with the header's length (little endian), the header in JSON,
// then the tensors' bytes without gaps. Every byte of a file is treated as hostile.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/safetensors_entries.h"
#include "core/file.h"

namespace halftone::checkpoint {

// Reads and checks everything but the tensors' bytes. Spaces behind the header's object, tensors without elements and
// scalars are accepted. Anything that the format forbids is refused, and also: white space in front of the object,
// other bytes than spaces behind it, unknown keys, more than 2^18 texts of metadata, names that are empty or hold a
// zero byte. Throws FORMAT naming file and tensor, UNSUPPORTED for dtypes and ranks that this library lacks, IO.
SafetensorsHeader read_safetensors_header(const File& file);

// Adds a tensor behind the last one. Throws FORMAT for the name __metadata__, which the format reserves.
void append_tensor(SafetensorsHeader& header, const std::string& name, DType dtype, const Shape& shape);
// Returns the bytes of the file before those of the tensors; sets data_begin and checksum. Throws FORMAT for names and
// metadata that are no UTF-8.
std::string serialize(SafetensorsHeader& header);

// The format's name of a dtype, such as "BF16".
const char* safetensors_name(DType dtype) noexcept;

}  // namespace halftone::checkpoint
