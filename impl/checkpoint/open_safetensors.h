// A safetensors file that stays open, so that single tensors are read from it when they are needed. One thread at a
// time.
#pragma once

#include <string>

#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {

// The tensors of a file as entries that read from it, to a device. The file stays open, and readable if another process
// removes it, until the last entry goes. Throws IO, FORMAT, UNSUPPORTED.
struct OpenedState {
  StateDict state;
  Metadata metadata;
};
OpenedState open_safetensors(const std::string& path, ContextDevice& device);

}  // namespace halftone::checkpoint
