// Offloaded masters while they are read. Used by FlatWeights.
#pragma once

#include <vector>

#include "parallel/shard/flats/state_pages.h"

namespace halftone::parallel {

// The masters that a loop over the slots of a buffer reads: brought page by page, the next one while one is read, and
// dropped behind it.
class FetchedMasters {
 public:
  explicit FetchedMasters(const std::vector<Ref<StatePages>>& pages) : pages_(pages) {}
  ~FetchedMasters() {
    for (const Ref<StatePages>& pages : pages_) pages->drop_masters();
  }

  void need(size_t slot) {
    if (pages_.empty()) return;
    StatePages& pages = *pages_[slot];
    if (&pages == current_) return;
    if (current_ != nullptr) current_->drop_masters();
    current_ = &pages;
    pages.fetch_masters();
    while (++slot < pages_.size()) {
      if (pages_[slot].get() != &pages) return pages_[slot]->start_fetch_masters();
    }
  }

 private:
  const std::vector<Ref<StatePages>>& pages_;
  StatePages* current_ = nullptr;
};

}  // namespace halftone::parallel
