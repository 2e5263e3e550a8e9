// What memory gives to loops that do next to nothing: the yardstick of the optimizer's passes. Each loop cuts its
// elements into one contiguous part a thread.
#pragma once

#include <cstdint>

#include "backend/thread_pool.h"

namespace halftone {

struct PlainStreams {
  int64_t size;
  const float* grad;
  float* master;
  float* moment1;
  float* moment2;
  uint16_t* copy;
};

// Reads grad and adds a little of it to master and to both moments in place: 28 bytes an element.
void plain_update(ThreadPool& pool, const PlainStreams& streams);

// The same, and writes a 16-bit copy of master past the caches: 30 bytes an element.
void plain_update_with_copy(ThreadPool& pool, const PlainStreams& streams);

// Reads grad: 4 bytes an element. Answers something that depends on all of it.
float plain_read(ThreadPool& pool, const PlainStreams& streams);

}  // namespace halftone
