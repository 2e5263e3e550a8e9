#include "parallel/shard/flats/state_pages.h"

#include "backend/chunks.h"
#include "core/error.h"
#include "parallel/rounds/bucket_plan.h"
#include "parallel/shard/flats/flat.h"
#include "tensor/factory.h"
#include "tensor/state_dict.h"

namespace halftone::parallel {

// A range of a page.
class StatePages::Store final : public StateStore {
 public:
  Store(Ref<StatePages> pages, offload::Page& page, const Tensor& part)
      : pages_(std::move(pages)), page_(page), part_(part) {}

  DType dtype() const noexcept override { return part_.dtype(); }
  const Shape& shape() const noexcept override { return part_.shape(); }
  ContextDevice& device() const noexcept override { return part_.device(); }
  void read(int64_t begin, const Tensor& target) const override { page_.read(part_, begin, target); }
  void write(const Tensor& values) const override { page_.write(part_, values); }

 private:
  const Ref<StatePages> pages_;  // keeps page_ alive
  offload::Page& page_;
  const Tensor part_;
};

// Shards begin at whole blocks, as their moments' scales do.
void StatePages::add(const Parameter& parameter, int64_t size) {
  first_.emplace(&parameter, size_);
  size_ += rounded_up(size, kBlockSize);
}

const Tensor& StatePages::make_masters() {
  masters_ = std::make_unique<offload::Page>(device_, DType::kF32, size_, Category::kParameters, *space_);
  masters_->fetch();
  return masters_->tensor();
}

void StatePages::start_fetch_masters() {
  if (masters_) masters_->start_fetch();
}

void StatePages::fetch_masters() {
  if (masters_) masters_->fetch();
}

void StatePages::drop_masters() noexcept {
  if (masters_) masters_->drop();
}

void StatePages::start_copy_masters(const Tensor& target) { masters_->start_copy(target); }

void StatePages::finish_copy_masters() { masters_->finish_copy(); }

Tensor StatePages::zeros(const Parameter& parameter, const Part& part, DType dtype, int64_t size) {
  const int64_t first = first_.at(&parameter) / (part.is_scales ? kBlockSize : 1);
  PartPage& found = page_of(part, dtype);
  const Tensor made = range_of(found.page->tensor(), first, first + size);
  const bool is_new = found.users.insert(&parameter).second;
  // A former optimizer had the memory before.
  if (!is_new) found.page->write(made, full(device_, dtype, {size}, 0.0, Category::kWorkspace));
  return made;
}

StatePages::PartPage& StatePages::page_of(const Part& part, DType dtype) {
  for (PartPage& made : parts_) {
    if (made.part == part && made.dtype == dtype) return made;
  }
  const int64_t size = part.is_scales ? size_ / kBlockSize : size_;
  auto page = std::make_unique<offload::Page>(device_, dtype, size, Category::kOptimizer, *space_);
  return parts_.emplace_back(PartPage{part, dtype, std::move(page), {}});
}

void StatePages::start_fetch() {
  start_fetch_masters();
  for (const PartPage& made : parts_) made.page->start_fetch();
}

void StatePages::fetch() {
  start_fetch();
  fetch_masters();
  for (const PartPage& made : parts_) made.page->fetch();
}

void StatePages::start_put_back() noexcept {
  if (masters_) masters_->start_put_back();
  for (const PartPage& made : parts_) made.page->start_put_back();
}

void StatePages::finish_put_back() {
  if (masters_) masters_->finish_put_back();
  for (const PartPage& made : parts_) made.page->finish_put_back();
}

Ref<const StateStore> StatePages::store_of(const Tensor& state) {
  const auto self = Ref<StatePages>::share(this);
  if (masters_ && masters_->is_over(state)) return make_ref<Store>(self, *masters_, state);
  for (const PartPage& made : parts_) {
    if (made.page->is_over(state)) return make_ref<Store>(self, *made.page, state);
  }
  fail(Code::kInternal, "", "a tensor is over no page of its state");
}

int64_t StatePages::byte_count() const noexcept {
  size_t bytes = masters_ ? masters_->byte_count() : 0;
  for (const PartPage& made : parts_) bytes += made.page->byte_count();
  return static_cast<int64_t>(bytes);
}

}  // namespace halftone::parallel
