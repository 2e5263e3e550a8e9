// The stateless seam between ops and a backend: tables of plain function pointers, grouped by kind. A kernel writes
// into given outputs, allocates no result, knows no autograd, takes its stream first and its output last, and returns a
// Status by value. A null entry means "not implemented on this backend"; tensor/launch.h reports it with op and device.
// A kernel only queues its work: device.h gives the rules for its arguments and for faults in the data.
// Ops check shapes and dtypes before the call. They guarantee each kernel's REQUIRES, which the kernel does not check
// again.
#pragma once

#include "backend/kernels/attention.h"
#include "backend/kernels/conv.h"
#include "backend/kernels/convert.h"
#include "backend/kernels/elementwise.h"
#include "backend/kernels/entry.h"
#include "backend/kernels/gemm.h"
#include "backend/kernels/index.h"
#include "backend/kernels/loss.h"
#include "backend/kernels/norm.h"
#include "backend/kernels/optim.h"
#include "backend/kernels/pool.h"
#include "backend/kernels/random.h"
#include "backend/kernels/reduce.h"
#include "backend/kernels/resample.h"
#include "backend/kernels/scaled.h"
#include "backend/kernels/select.h"
#include "backend/kernels/sequence.h"
#include "backend/kernels/statistics.h"

namespace halftone {

struct Kernels {
  ConvertKernels convert;
  ElementwiseKernels elementwise;
  ReduceKernels reduce;
  GemmKernels gemm;
  ConvKernels conv;
  PoolKernels pool;
  ResampleKernels resample;
  NormKernels norm;
  AttentionKernels attention;
  LossKernels loss;
  IndexKernels index;
  SelectKernels select;
  RandomKernels random;
  StatisticsKernels statistics;
  OptimKernels optim;
  SequenceKernels sequence;
  ScaledKernels scaled;
};

}  // namespace halftone

// The list of all groups: X(type, member).
#define HALFTONE_KERNEL_GROUPS(X)    \
  X(ConvertKernels, convert)         \
  X(ElementwiseKernels, elementwise) \
  X(ReduceKernels, reduce)           \
  X(GemmKernels, gemm)               \
  X(ConvKernels, conv)               \
  X(PoolKernels, pool)               \
  X(ResampleKernels, resample)       \
  X(NormKernels, norm)               \
  X(AttentionKernels, attention)     \
  X(LossKernels, loss)               \
  X(IndexKernels, index)             \
  X(SelectKernels, select)           \
  X(RandomKernels, random)           \
  X(StatisticsKernels, statistics)   \
  X(OptimKernels, optim)             \
  X(SequenceKernels, sequence)       \
  X(ScaledKernels, scaled)
