// In-place writes that a function makes while it is recorded: each replay writes again, and must count as a write.
#pragma once

#include "tensor/storage.h"

namespace halftone {

// Registers a write to a storage, or to one range of it, unless the memory is the recording's own. `range` may be null.
void record_write(RecordedStep& step, const Ref<Storage>& storage, const Ref<RangeVersion>& range) noexcept;

}  // namespace halftone
