// The compiled instruction set that the CPU kernels use on this machine.
#pragma once

namespace halftone::cpu {

// "AVX3" (AVX-512), "AVX2" or "SCALAR".
const char* instruction_set() noexcept;

}  // namespace halftone::cpu
