// Makes operator new fail at a chosen call, only on the thread that requests it. test_backend replaces operator new by
// one that supports this (failing_allocations.h).
#pragma once

#include <cstdint>

#include "failing_allocations.h"

namespace halftone {

// While this object lives, the `call`-th allocation from now on (counted from 0) throws std::bad_alloc, once.
class FailingNew {
 public:
  explicit FailingNew(int64_t call) { fail_allocation(call, 0); }
  ~FailingNew() { ignore_allocations(); }
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // True if that call was reached.
  bool has_failed() const { return has_allocation_failed() != 0; }
};

}  // namespace halftone
