#include "tensor/recorded_write.h"

#include <new>
#include <utility>

#include "runtime/recorded_step.h"

namespace halftone {
namespace {

class RecordedWrite final : public ReplayedState {
 public:
  RecordedWrite(Ref<Storage> storage, Ref<RangeVersion> range)
      : storage_(std::move(storage)), range_(std::move(range)) {}

  void replayed() noexcept override {
    if (!range_) return storage_->bump_whole();
    range_->bump();
    storage_->bump_range();
  }

 private:
  Ref<Storage> storage_;
  Ref<RangeVersion> range_;
};

}  // namespace

void record_write(RecordedStep& step, const Ref<Storage>& storage, const Ref<RangeVersion>& range) noexcept {
  const void* const written = range ? static_cast<const void*>(range.get()) : storage.get();
  if (&step.device() != &storage->device() || storage->is_of(step) || step.state_of(written) != nullptr) return;
  try {
    step.add_state(written, make_ref<RecordedWrite>(storage, range));
  } catch (const std::bad_alloc&) {
    step.lose_state();
  }
}

}  // namespace halftone
