// Makes operator new fail at a chosen call, on the thread that asks for it alone; test_backend replaces operator new
// with one that knows this (failing_allocations.h).
#pragma once

#include <cstdint>

#include "failing_allocations.h"

namespace halftone {

// While it lives, the `call`-th allocation from now on (counted from 0) throws std::bad_alloc, once.
class FailingNew {
 public:
  explicit FailingNew(int64_t call) { fail_allocation(call, 0); }
  ~FailingNew() { ignore_allocations(); }
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // Whether that call was reached.
  bool has_failed() const { return has_allocation_failed() != 0; }
};

}  // namespace halftone
