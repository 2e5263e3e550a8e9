// The bookkeeping of the caching allocator's pages: segments taken from the device, cut into blocks of whole pages. A
// free block lies in the bin of its size; its free neighbours are merged with it at once. Knows no device and touches
// no memory of it. The caller orders the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace halftone {

inline constexpr size_t kPageSize = 4096;

constexpr size_t whole_pages(size_t bytes) { return (bytes + kPageSize - 1) / kPageSize * kPageSize; }

// A stretch of whole pages of one segment.
struct PageBlock {
  char* data = nullptr;
  size_t size = 0;
  bool free = false;
  PageBlock* before = nullptr;  // neighbours in the segment, by address
  PageBlock* after = nullptr;
  PageBlock* previous = nullptr;  // neighbours in the bin, where free
  PageBlock* next = nullptr;

  bool is_segment() const { return before == nullptr && after == nullptr; }
};

class PageHeap {
 public:
  PageHeap() = default;
  ~PageHeap();  // REQUIRES: no block is in use, and every segment was taken out
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  // The smallest free block of at least `size` bytes, cut to `size`; null where there is none. A record for the rest is
  // made first, so std::bad_alloc leaves the heap as it was. REQUIRES: size is whole pages, at least one.
  PageBlock* take(size_t size);

  // Adds a segment that the device gave and answers its first `size` bytes as a block in use. The records come from the
  // caller, who makes them before asking the device, so that nothing can fail after it.
  PageBlock* take_from_new(void* data, size_t segment_size, size_t size, std::unique_ptr<PageBlock> segment,
                           std::unique_ptr<PageBlock> rest) noexcept;

  void give(PageBlock* block) noexcept;

  // Takes out every segment that is free as a whole: a chain by `next`, for the caller to give back and delete.
  PageBlock* take_out_free_segments() noexcept;

  // Of all blocks that are not in use; none of them need be large.
  size_t free_bytes() const noexcept;

 private:
  // Bins of one size each up to kExactBins pages, then eight to each doubling.
  static constexpr int kExactBins = 64;
  static constexpr int kBinCount = kExactBins + 8 * 31;
  static constexpr int kBinWords = (kBinCount + 63) / 64;

  static int bin_of(size_t size) noexcept;
  PageBlock* best_fit(size_t size) const noexcept;
  int next_bin_in_use(int bin) const noexcept;
  void link(PageBlock* block) noexcept;
  void unlink(PageBlock* block) noexcept;
  void cut(PageBlock* block, size_t size, PageBlock* rest) noexcept;
  void absorb_after(PageBlock* block) noexcept;
  void ensure_spare();
  PageBlock* take_spare() noexcept;
  void keep_spare(PageBlock* record) noexcept;

  PageBlock* bins_[kBinCount] = {};
  uint64_t bins_in_use_[kBinWords] = {};
  PageBlock* spares_ = nullptr;  // records without a block, by `next`
};

}  // namespace halftone
