#include "runtime/memory/slab.h"

#include <bit>

namespace halftone {

int cell_class_of(size_t bytes) noexcept {
  if (bytes <= 512) return static_cast<int>((bytes + 63) / 64) - 1;
  const int doubling = std::bit_width(bytes - 1) - 1;  // 9 for 513 to 1024
  const int quarter = static_cast<int>(((bytes - 1) >> (doubling - 2)) & 3);
  return 8 + 4 * (doubling - 9) + quarter;
}

size_t cell_size_of(int cell_class) noexcept {
  if (cell_class < 8) return static_cast<size_t>(cell_class + 1) * 64;
  const int doubling = 9 + (cell_class - 8) / 4;
  const size_t quarters = static_cast<size_t>((cell_class - 8) % 4) + 5;
  return quarters << (doubling - 2);
}

Slab::Slab(int cell_class)
    : cell_class_(cell_class),
      cell_count_(static_cast<int>(kSlabSize / cell_size_of(cell_class))),
      free_count_(cell_count_),
      free_cells_(std::make_unique<uint16_t[]>(static_cast<size_t>(cell_count_))) {
  // A stack: reversed, so that the lowest addresses are taken first.
  for (int i = 0; i < cell_count_; ++i) free_cells_[i] = static_cast<uint16_t>(cell_count_ - 1 - i);
}

void Slab::give(const void* cell) noexcept {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(cell) - block_->data);
  free_cells_[free_count_++] = static_cast<uint16_t>(offset / cell_size_of(cell_class_));
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
