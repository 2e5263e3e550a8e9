// The address at which other machines reach this process. Pure lookup, safe from any thread.
#pragma once

#include <string>

#include "core/status.h"

namespace halftone {

// The numeric address of `interface`, which is an address, a machine's name or the name of a network interface. Null
// takes the one that this machine's name stands for, or the loopback. Returns IO for a name that has no address here.
// Throws OUT_OF_MEMORY.
Status find_interface_address(const char* interface, std::string* out);

}  // namespace halftone
