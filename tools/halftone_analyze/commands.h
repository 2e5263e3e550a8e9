// The commands of halftone-analyze. Each returns its output; they throw std::runtime_error with the library's message.
#pragma once

#include <string>

#include "options.h"

namespace halftone_analyze {

// The properties of all formats, and the errors of roundings to them.
std::string formats(const Options& options);
// One number added many times.
std::string sum(const Options& options);
// The tensors of a safetensors file, and what formats do to them.
std::string file(const Options& options);
// The record of a run: what to look at, and what other formats and scales would lose.
std::string log(const Options& options);
// How fast a product is, and those of aligned sizes.
std::string shapes(const Options& options);
// Formats and recipes by hardware, and what this machine measures.
std::string advice(const Options& options);

}  // namespace halftone_analyze
