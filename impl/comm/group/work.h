// An operation of a process group that was started: one rank's handle of it. A pure interface of plain types, because a
// plugin may implement it. Safe from any thread; destroy() comes after every other call, and may come after the
// group's.
#pragma once

#include "backend/device.h"

namespace halftone {

class Work {
 public:
  // Releases the handle. The operation itself goes on: its memory must stay valid until it is done, so wait first.
  virtual void destroy() noexcept = 0;
  virtual bool is_done() noexcept = 0;
  // Blocks the calling thread until the operation is done, for `ns` at most, and returns is_done().
  virtual bool wait_for(int64_t ns) noexcept = 0;
  // Blocks the calling thread until the operation is done, and returns the operation's result.
  virtual Status wait() noexcept = 0;
  // Work queued on `stream` after this call runs after the operation. A group without streams of its own blocks the
  // calling thread instead; a group over NCCL makes the stream wait, and the caller goes on as soon as the operation is
  // queued. Returns the operation's result as far as it is known.
  virtual Status wait_on(Stream& stream) noexcept = 0;

 protected:
  ~Work() = default;
};

}  // namespace halftone
