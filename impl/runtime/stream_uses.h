// The streams, other than the default stream, that use one piece of memory. Each gets its event in advance, so that
// releasing the memory cannot fail. One thread at a time.
#pragma once

#include <vector>

#include "backend/device.h"

namespace halftone {

class StreamUses {
 public:
  StreamUses() = default;
  StreamUses(StreamUses&& other) noexcept = default;
  StreamUses& operator=(StreamUses&& other) noexcept;
  ~StreamUses();

  // Does nothing for a stream that was added before. Throws OUT_OF_MEMORY.
  void add(Device& device, Stream& stream);
  bool empty() const noexcept { return uses_.empty(); }

  // Marks the work that each stream has queued so far. Waits for a stream that cannot be marked.
  void record() noexcept;
  // True if all marked work has finished. False if a device cannot tell.
  bool are_reached() const noexcept;
  // Waits for all marked work. Returns the first failure.
  Status wait() const noexcept;

 private:
  struct Use {
    Stream* stream;
    Event* event;
  };

  std::vector<Use> uses_;
};

}  // namespace halftone
