// While a function is recorded (runtime/recorded_step.h), the random keys that its thread takes refer to a number in
// device memory, so that each replay draws from further sequences. One thread.
#pragma once

#include "core/philox.h"
#include "core/thread.h"

namespace halftone {

class Context;

class RecordedKeys {
 public:
  // Until the end of a block, keys of `context` refer to `word`, device memory that outlives the recorded work.
  RecordedKeys(const Context& context, const ReplayedKey* word) noexcept
      : context_(context), word_(word), current_(this) {}

  // Null outside of a recording.
  static const ReplayedKey* word_of(const Context& context) noexcept {
    const RecordedKeys* const keys = thread().recorded_keys;
    return keys != nullptr && &keys->context_ == &context ? keys->word_ : nullptr;
  }

 private:
  const Context& context_;
  const ReplayedKey* const word_;
  const ThreadGuard<&Thread::recorded_keys> current_;
};

}  // namespace halftone
