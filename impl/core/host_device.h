// Marks functions that CUDA kernels call as well: the formulas of backend/formula and the random numbers of philox.h.
// Empty for compilers that do not compile CUDA.
#pragma once

#if defined(__CUDA__) && defined(__clang__)
// Attributes, because the usual macros come from headers of the CUDA toolkit, which Clang does not need here.
#define HALFTONE_HOST_DEVICE __attribute__((host)) __attribute__((device))
#elif defined(__CUDACC__)
#define HALFTONE_HOST_DEVICE __host__ __device__
#else
#define HALFTONE_HOST_DEVICE
#endif
