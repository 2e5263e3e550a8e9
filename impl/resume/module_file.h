// Loads a safetensors file into a module, tensor by tensor: beside the module it needs memory for one tensor. One
// thread at a time; no other uses the module meanwhile.
#pragma once

#include <string>

#include "nn/module.h"

namespace halftone::resume {

// First checks the file's header against the module, and its bools; after an error until then nothing has changed. Then
// reads each tensor into its place; the message of an error from here on says that the module was partly loaded. Throws
// IO, FORMAT, UNSUPPORTED, and as nn::load_state does, naming "path"; INVALID_ARGUMENT naming "module" for one without
// parameters and buffers.
void load_file(const nn::Module& module, const std::string& path, bool strict);

}  // namespace halftone::resume
