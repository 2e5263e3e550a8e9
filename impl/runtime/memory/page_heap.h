// Manages the pages of the caching allocator: segments taken from the device, cut into blocks of whole pages. A free
// block is in the bin of its size and is merged with its free neighbours at once. Knows no device and never touches the
// memory. Not thread-safe: the allocator holds its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace halftone {

inline constexpr size_t kPageSize = 4096;

constexpr size_t whole_pages(size_t bytes) { return (bytes + kPageSize - 1) / kPageSize * kPageSize; }

// A range of whole pages of one segment.
struct PageBlock {
  char* data = nullptr;
  size_t size = 0;
  bool free = false;
  PageBlock* before = nullptr;  // neighbours in the segment, by address
  PageBlock* after = nullptr;
  PageBlock* previous = nullptr;  // neighbours in the bin, while free
  PageBlock* next = nullptr;

  bool is_segment() const { return before == nullptr && after == nullptr; }
};

class PageHeap {
 public:
  PageHeap() = default;
  ~PageHeap();  // REQUIRES: no block is in use, and every segment was taken out
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  // Returns the smallest free block of at least `size` bytes, cut to `size`; null if there is none. The record for the
  // rest is allocated first, so std::bad_alloc leaves the heap unchanged. REQUIRES: size is whole pages, at least one.
  PageBlock* take(size_t size);

  // Adds a segment from the device and returns its first `size` bytes as a block in use. The caller creates the two
  // records before it asks the device, so that nothing can fail afterwards.
  PageBlock* take_from_new(void* data, size_t segment_size, size_t size, std::unique_ptr<PageBlock> segment,
                           std::unique_ptr<PageBlock> rest) noexcept;

  void give(PageBlock* block) noexcept;

  // Removes every segment that is entirely free and returns them as a chain by `next`; the caller returns their memory
  // to the device and deletes the records.
  PageBlock* take_out_free_segments() noexcept;

  // Adds segments that another heap's take_out_free_segments returned.
  void add_free_segments(PageBlock* chain) noexcept;

  // The sum over all free blocks; each of them may be small.
  size_t free_bytes() const noexcept;

 private:
  // Up to kExactBins pages each bin holds one size; above, each doubling has eight bins.
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
  PageBlock* spares_ = nullptr;  // unused records, linked by `next`
};

}  // namespace halftone
