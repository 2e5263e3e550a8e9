#include "backend/memory/slab.h"

#include <bit>

namespace halftone {

int slot_class_of(size_t bytes) noexcept {
  if (bytes <= 512) return static_cast<int>((bytes + 63) / 64) - 1;
  const int doubling = std::bit_width(bytes - 1) - 1;  // 9 for 513 to 1024
  const int quarter = static_cast<int>(((bytes - 1) >> (doubling - 2)) & 3);
  return 8 + 4 * (doubling - 9) + quarter;
}

size_t slot_size_of(int slot_class) noexcept {
  if (slot_class < 8) return static_cast<size_t>(slot_class + 1) * 64;
  const int doubling = 9 + (slot_class - 8) / 4;
  const size_t quarters = static_cast<size_t>((slot_class - 8) % 4) + 5;
  return quarters << (doubling - 2);
}

Slab::Slab(int slot_class)
    : slot_class_(slot_class),
      slot_count_(static_cast<int>(kSlabSize / slot_size_of(slot_class))),
      free_count_(slot_count_),
      free_slots_(std::make_unique<uint16_t[]>(static_cast<size_t>(slot_count_))) {
  // A stack: reversed, so that the lowest addresses are taken first.
  for (int i = 0; i < slot_count_; ++i) free_slots_[i] = static_cast<uint16_t>(slot_count_ - 1 - i);
}

void Slab::give(const void* slot) noexcept {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(slot) - block_->data);
  free_slots_[free_count_++] = static_cast<uint16_t>(offset / slot_size_of(slot_class_));
}

void SlabList::add(Slab* slab) noexcept {
  slab->previous_ = nullptr;
  slab->next_ = first_;
  if (first_ != nullptr) first_->previous_ = slab;
  first_ = slab;
}

void SlabList::remove(Slab* slab) noexcept {
  if (slab->next_ != nullptr) slab->next_->previous_ = slab->previous_;
  (slab->previous_ != nullptr ? slab->previous_->next_ : first_) = slab->next_;
}

}  // namespace halftone
