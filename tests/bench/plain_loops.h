// Loops with almost no arithmetic, limited by memory bandwidth: the reference for the optimizer's passes. Each loop
// splits its elements into one contiguous part per thread.
#pragma once

#include <cstdint>

#include "cpu/threads/thread_pool.h"

namespace halftone {

struct PlainStreams {
  int64_t size;
  const float* grad;
  float* master;
  float* moment1;
  float* moment2;
  uint16_t* copy;
};

// Reads grad and adds a small share of it to master and to both moments in place: 28 bytes per element.
void plain_update(ThreadPool& pool, const PlainStreams& streams);

// Like plain_update, and also writes a 16-bit copy of master with non-temporal stores: 30 bytes per element.
void plain_update_with_copy(ThreadPool& pool, const PlainStreams& streams);

// Reads grad: 4 bytes per element. Returns a value that depends on all of it.
float plain_read(ThreadPool& pool, const PlainStreams& streams);

}  // namespace halftone
