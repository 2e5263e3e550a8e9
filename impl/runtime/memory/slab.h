// Requests below a page are served from slabs: blocks of 64 KiB cut into cells of one size. The list of free cells is
// in host memory, because host code may not be able to read the device's memory. Not thread-safe: the allocator holds
// its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/memory/page_heap.h"

namespace halftone {

inline constexpr size_t kSlabSize = size_t{64} << 10;
inline constexpr size_t kCellAlignment = 64;
// The largest size class below a page.
inline constexpr size_t kLargestCell = 3584;
inline constexpr int kCellClassCount = 19;

// Returns the class of a request: cell sizes are multiples of 64 up to 512, then four sizes to each doubling.
// REQUIRES: 0 < bytes <= kLargestCell
int cell_class_of(size_t bytes) noexcept;
size_t cell_size_of(int cell_class) noexcept;

class Slab {
 public:
  explicit Slab(int cell_class);

  int cell_class() const noexcept { return cell_class_; }
  bool is_full() const noexcept { return free_count_ == 0; }
  bool is_empty() const noexcept { return free_count_ == cell_count_; }

  // REQUIRES: not is_full()
  char* take() noexcept { return block_->data + size_t{free_cells_[--free_count_]} * cell_size_of(cell_class_); }
  void give(const void* cell) noexcept;

  // The pages that hold the cells; set once, before the first take.
  PageBlock* block() const noexcept { return block_; }
  void set_block(PageBlock* block) noexcept { block_ = block; }

 private:
  friend class SlabList;

  int cell_class_;
  int cell_count_;
  int free_count_;
  PageBlock* block_ = nullptr;
  std::unique_ptr<uint16_t[]> free_cells_;  // a stack
  Slab* previous_ = nullptr;
  Slab* next_ = nullptr;
};

// The slabs of one class that have free cells.
class SlabList {
 public:
  Slab* first() const noexcept { return first_; }
  static Slab* after(const Slab* slab) noexcept { return slab->next_; }
  bool holds_only(const Slab* slab) const noexcept { return first_ == slab && slab->next_ == nullptr; }
  void add(Slab* slab) noexcept;
  void remove(Slab* slab) noexcept;

 private:
  Slab* first_ = nullptr;
};

}  // namespace halftone
