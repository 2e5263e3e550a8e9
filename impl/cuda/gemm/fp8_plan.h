// The plan of a product of codes. Pure functions, safe from any thread.
#pragma once

#include "cuda/gemm/lt_problem.h"

namespace halftone::cuda {

// kLines: cuBLASLt multiplies 8-bit floats, each line with a scale, and writes c. kBlocks: it multiplies codes with
// scales of blocks. kBytes: it multiplies 8-bit floats. kWidened: it multiplies copies in BF16 of the codes times their
// scales, which it holds exactly. kTiled: a kernel of our own reads the operands where they are.
enum class Fp8Way : int32_t { kTiled, kWidened, kBytes, kBlocks, kLines };

// Operands are packed where the way needs it: copied so that neighbours along k are neighbours in memory, or widened.
struct Fp8Plan {
  bool is_possible = false;
  bool packs_a = false;
  bool packs_b = false;
  bool writes_sums = false;  // in FP32, which a kernel finishes; else cuBLASLt writes c
  View a;                    // as it is multiplied; null data where it is packed
  View b;
  LtProblem problem;
};

// REQUIRES: not kTiled.
Fp8Plan fp8_plan(const GemmArgs& args, Fp8Way way, int capability) noexcept;
// True for a large product on a GPU with 8-bit products whose sizes alone prevent them.
bool has_unfit_sizes(const GemmArgs& args, int capability) noexcept;

}  // namespace halftone::cuda
