// A piece of state that is in the device's memory only while it is used, and in a swap space otherwise. One
// thread at a time.
#pragma once

#include <exception>
#include <memory>

#include "offload/swap_space.h"
#include "tensor/tensor.h"

namespace halftone::offload {

class Page final : private StorageRestorer {
 public:
  // 1-D zeros, which are in the swap space. Throws OUT_OF_MEMORY.
  Page(ContextDevice& device, DType dtype, int64_t size, Category category, SwapSpace& space);
  // Waits. Tensors over the page have no content afterwards, unless it is there.
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  // The page as a tensor, whose storage has a restorer while the content is not there.
  const Tensor& tensor() const noexcept { return tensor_; }
  size_t byte_count() const noexcept { return bytes_; }
  bool is_over(const Tensor& part) const noexcept { return part.storage() == tensor_.storage(); }

  // Begin to copy the content to a tensor of this dtype and size, 1-D and contiguous, which no page in memory takes
  // part in; the end of it waits, and throws the errors of SwapSlot::wait. Only the end may read or release the target.
  void start_copy(const Tensor& target);
  void finish_copy();

  // Begins to bring the content into memory. Throws OUT_OF_MEMORY.
  void start_fetch();
  // Has the content there. Throws OUT_OF_MEMORY and the errors of SwapSlot::wait.
  void fetch();
  // The content was changed: begins to write it. Nothing else may use it until it is fetched again. Does nothing if it
  // is not there.
  void start_put_back() noexcept;
  // The content was only read: releases the memory, unless write() or a write that failed has left the only copy there.
  void drop() noexcept;
  // Waits for the write, and releases the memory. Throws the errors of SwapSlot::wait; then the content is there still.
  void finish_put_back();

  // Copy elements of a part, contiguous, between the swap space or memory and a tensor of this dtype: 1-D, contiguous,
  // on this device. Throw as fetch() does.
  void read(const Tensor& part, int64_t begin, const Tensor& target);
  void write(const Tensor& part, const Tensor& values);

 private:
  enum class Place { kAway, kArriving, kHere, kLeaving };

  void restore() override { fetch(); }
  void settle_copy() noexcept;
  void release() noexcept;
  size_t byte_at(const Tensor& part, int64_t element) const;

  const Tensor tensor_;
  const size_t bytes_;
  const std::unique_ptr<SwapSlot> slot_;
  Place place_ = Place::kAway;
  Tensor copy_;  // the target of a copy that is under way
  std::exception_ptr copy_error_;
  bool is_newer_ = false;  // the memory has what the swap space lacks
};

}  // namespace halftone::offload
