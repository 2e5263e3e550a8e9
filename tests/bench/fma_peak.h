// The FP32 multiply-add rate of one core with the widest vectors of this CPU: what a GEMM can reach at most.
#pragma once

namespace halftone {

// GFLOP/s, a multiply-add counted as two; runs for about 20 ms.
double fma_peak();

}  // namespace halftone
