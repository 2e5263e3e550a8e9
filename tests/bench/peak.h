// What one core of this CPU multiplies with its widest vectors: what a GEMM can reach at most. GFLOP/s, a multiply-add
// counted as two; each runs for about 20 ms.
#pragma once

namespace halftone {

double fma_peak();

// Of dot products of BF16 pairs; 0 where the CPU has none.
double dot_peak();

}  // namespace halftone
