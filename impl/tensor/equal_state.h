// Compares entries of states. Used where a parameter has several names in a file. One thread at a time.
#pragma once

#include "tensor/state_dict.h"

namespace halftone {

// True if both have the same dtype, shape, range and bits. Reads entries of files piece by piece. Throws as their
// readers do.
bool are_equal(const StateTensor& one, const StateTensor& other);

}  // namespace halftone
