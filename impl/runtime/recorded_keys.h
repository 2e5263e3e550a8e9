// While a function is recorded (runtime/recorded_step.h), the random keys that its thread takes refer to a number in
// device memory, so that each replay draws from further sequences. One thread.
#pragma once

#include "core/philox.h"

namespace halftone {

class Context;

class RecordedKeys {
 public:
  // Until the end of a block, keys of `context` refer to `word`, device memory that outlives the recorded work.
  RecordedKeys(const Context& context, const ReplayedKey* word) noexcept
      : context_(context), word_(word), outer_(current_) {
    current_ = this;
  }
  ~RecordedKeys() { current_ = outer_; }
  RecordedKeys(const RecordedKeys&) = delete;
  RecordedKeys& operator=(const RecordedKeys&) = delete;

  // Null outside of a recording.
  static const ReplayedKey* word_of(const Context& context) noexcept {
    return current_ != nullptr && &current_->context_ == &context ? current_->word_ : nullptr;
  }

 private:
  static thread_local constinit inline RecordedKeys* current_ = nullptr;

  const Context& context_;
  const ReplayedKey* const word_;
  RecordedKeys* const outer_;
};

}  // namespace halftone
