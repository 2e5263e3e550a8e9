#include "runtime/memory/page_heap.h"

#include <bit>

namespace halftone {

PageHeap::~PageHeap() {
  while (spares_ != nullptr) delete take_spare();
}

int PageHeap::bin_of(size_t size) noexcept {
  const uint64_t pages = size / kPageSize;
  if (pages <= kExactBins) return static_cast<int>(pages) - 1;
  const int doubling = std::bit_width(pages) - 1;
  const int eighth = static_cast<int>((pages >> (doubling - 3)) & 7);
  const int bin = kExactBins + 8 * (doubling - 6) + eighth;
  return bin < kBinCount ? bin : kBinCount - 1;
}

int PageHeap::next_bin_in_use(int bin) const noexcept {
  int word = bin / 64;
  uint64_t bits = bins_in_use_[word] & (~uint64_t{0} << (bin % 64));
  while (bits == 0) {
    if (++word == kBinWords) return -1;
    bits = bins_in_use_[word];
  }
  return word * 64 + std::countr_zero(bits);
}

// A block of a later bin is larger than every block of an earlier bin. Only blocks of the first bin can be too small.
PageBlock* PageHeap::best_fit(size_t size) const noexcept {
  for (int bin = next_bin_in_use(bin_of(size)); bin >= 0; bin = bin + 1 < kBinCount ? next_bin_in_use(bin + 1) : -1) {
    PageBlock* best = nullptr;
    for (PageBlock* block = bins_[bin]; block != nullptr; block = block->next) {
      if (block->size == size) return block;
      if (block->size > size && (best == nullptr || block->size < best->size)) best = block;
    }
    if (best != nullptr) return best;
  }
  return nullptr;
}

void PageHeap::link(PageBlock* block) noexcept {
  const int bin = bin_of(block->size);
  block->previous = nullptr;
  block->next = bins_[bin];
  if (block->next != nullptr) block->next->previous = block;
  bins_[bin] = block;
  bins_in_use_[bin / 64] |= uint64_t{1} << (bin % 64);
  block->free = true;
}

void PageHeap::unlink(PageBlock* block) noexcept {
  const int bin = bin_of(block->size);
  if (block->next != nullptr) block->next->previous = block->previous;
  (block->previous != nullptr ? block->previous->next : bins_[bin]) = block->next;
  if (bins_[bin] == nullptr) bins_in_use_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
  block->free = false;
}

// `block` keeps the first `size` bytes; the others become a free block.
void PageHeap::cut(PageBlock* block, size_t size, PageBlock* rest) noexcept {
  rest->data = block->data + size;
  rest->size = block->size - size;
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->size = size;
  link(rest);
}

PageBlock* PageHeap::take(size_t size) {
  PageBlock* block = best_fit(size);
  if (block == nullptr) return nullptr;
  // May throw, so it comes before the heap changes.
  if (block->size > size) ensure_spare();
  unlink(block);
  if (block->size > size) cut(block, size, take_spare());
  return block;
}

PageBlock* PageHeap::take_from_new(void* data, size_t segment_size, size_t size, std::unique_ptr<PageBlock> segment,
                                   std::unique_ptr<PageBlock> rest) noexcept {
  PageBlock* block = segment.release();
  block->data = static_cast<char*>(data);
  block->size = segment_size;
  if (segment_size > size) cut(block, size, rest.release());
  return block;
}

void PageHeap::absorb_after(PageBlock* block) noexcept {
  PageBlock* absorbed = block->after;
  block->size += absorbed->size;
  block->after = absorbed->after;
  if (block->after != nullptr) block->after->before = block;
  keep_spare(absorbed);
}

void PageHeap::give(PageBlock* block) noexcept {
  if (block->after != nullptr && block->after->free) {
    unlink(block->after);
    absorb_after(block);
  }
  if (block->before != nullptr && block->before->free) {
    block = block->before;
    unlink(block);
    absorb_after(block);
  }
  link(block);
}

PageBlock* PageHeap::take_out_free_segments() noexcept {
  PageBlock* chain = nullptr;
  for (int bin = 0; bin < kBinCount; ++bin) {
    for (PageBlock* block = bins_[bin]; block != nullptr;) {
      PageBlock* following = block->next;
      if (block->is_segment()) {
        unlink(block);
        block->next = chain;
        chain = block;
      }
      block = following;
    }
  }
  return chain;
}

void PageHeap::add_free_segments(PageBlock* chain) noexcept {
  while (chain != nullptr) {
    PageBlock* const following = chain->next;
    link(chain);
    chain = following;
  }
}

size_t PageHeap::free_bytes() const noexcept {
  size_t bytes = 0;
  for (const PageBlock* first : bins_) {
    for (const PageBlock* block = first; block != nullptr; block = block->next) bytes += block->size;
  }
  return bytes;
}

void PageHeap::ensure_spare() {
  if (spares_ == nullptr) keep_spare(new PageBlock);
}

PageBlock* PageHeap::take_spare() noexcept {
  PageBlock* record = spares_;
  spares_ = record->next;
  return record;
}

void PageHeap::keep_spare(PageBlock* record) noexcept {
  record->next = spares_;
  spares_ = record;
}

}  // namespace halftone
