// The random sequences that a thread takes while it runs some code, recorded so that a second run of that code draws
// the same numbers, whatever was drawn between the two and on other threads. Used by autograd/recompute.h. A tape
// belongs to one thread, and tapes nest: the innermost one counts.
#pragma once

#include <cstddef>
#include <vector>

#include "core/philox.h"
#include "core/thread.h"

namespace halftone {

class KeyTape {
 public:
  enum class Mode { kRecord, kReplay };

  // Until the end of a block, Context::next_key of this thread adds its keys to `keys`, or returns them in turn and
  // leaves the generator alone. A replay that needs more keys than there are takes new ones.
  KeyTape(std::vector<PhiloxKey>& keys, Mode mode) noexcept : keys_(keys), mode_(mode), current_(this) {}

  // A replay took as many keys as were recorded.
  bool is_at_end() const noexcept { return taken_ == keys_.size(); }

  // The key that a replay of this thread returns next; null where a new one is to be taken.
  static const PhiloxKey* replayed() noexcept {
    KeyTape* const tape = thread().key_tape;
    if (tape == nullptr || tape->mode_ == Mode::kRecord) return nullptr;
    const size_t next = tape->taken_++;
    return next < tape->keys_.size() ? &tape->keys_[next] : nullptr;
  }
  // Called with each new key. Throws OUT_OF_MEMORY.
  static void record(const PhiloxKey& key) {
    const KeyTape* const tape = thread().key_tape;
    if (tape != nullptr && tape->mode_ == Mode::kRecord) tape->keys_.push_back(key);
  }

 private:
  std::vector<PhiloxKey>& keys_;
  const Mode mode_;
  size_t taken_ = 0;  // by a replay
  const ThreadGuard<&Thread::key_tape> current_;
};

}  // namespace halftone
