// The peak of one core of this CPU for multiply-adds with its widest vectors, which is the upper limit of a GEMM. In
// GFLOP/s, a multiply-add counts as two; each measurement takes about 20 ms.
#pragma once

namespace halftone {

double fma_peak();

// The peak of dot products of BF16 pairs; 0 if the CPU has none.
double dot_peak();

}  // namespace halftone
