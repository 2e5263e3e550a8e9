#include "data/batches.h"

#include <utility>

#include "core/error.h"
#include "data/prefetched_source.h"

namespace halftone::data {

namespace {

// True until the end of a block.
class Raised {
 public:
  explicit Raised(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

}  // namespace

Batches::Batches(Ref<Sampler> sampler, Ref<const Source> source)
    : sampler_(std::move(sampler)), source_(std::move(source)), current_(source_->tensor_count()) {}

Batches::Batches(Ref<Sampler> sampler, std::vector<Tensor> tensors)
    : Batches(sampler, Ref<const Source>(make_ref<TensorSource>(std::move(tensors), sampler->count()))) {}

void Batches::send_to(ContextDevice& device) {
  if (is_taking_) fail(Code::kState, "batches", "batches takes a batch: its callback must not change where it goes");
  const auto* sent = dynamic_cast<const PrefetchedSource*>(source_.get());
  source_ = make_ref<PrefetchedSource>(sent != nullptr ? sent->source() : source_, sampler_, device);
}

// The indices are copied: a caller's function may use the sampler, which may be another's too.
void Batches::next() {
  if (is_taking_) fail(Code::kState, "batches", "batches takes a batch already: its callback must not take another");
  const Raised taking(is_taking_);
  const std::vector<int64_t> indices = sampler_->peek();
  current_ = source_->batch(indices);
  sampler_->advance();
}

}  // namespace halftone::data
