// The part of the CUDA toolkit that Clang's own headers and the formulas need, so that Clang checks the formulas on
// machines without a toolkit. Declarations only: the code is checked, never linked.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))

extern "C" {
__device__ double copysign(double, double);
__device__ double cos(double);
__device__ double erfc(double);
__device__ double exp(double);
__device__ double expm1(double);
__device__ double fabs(double);
__device__ double floor(double);
__device__ double fma(double, double, double);
__device__ double fmax(double, double);
__device__ double fmin(double, double);
__device__ double fmod(double, double);
__device__ double frexp(double, int*);
__device__ double hypot(double, double);
__device__ double ldexp(double, int);
__device__ double log(double);
__device__ double log1p(double);
__device__ double pow(double, double);
__device__ double rint(double);
__device__ double sqrt(double);
}
