// Makes operator new fail at a chosen call, on the thread that asks for it alone; test_backend replaces operator new
// with one that knows this.
#pragma once

#include <cstdint>

namespace halftone {

// While it lives, the `call`-th allocation from now on (counted from 0) throws std::bad_alloc, once.
class FailingNew {
 public:
  explicit FailingNew(int64_t call);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // Whether that call was reached.
  bool has_failed() const;
};

}  // namespace halftone
