#include "parallel/mesh/forward_watch.h"

#include "autograd/scope.h"
#include "runtime/context.h"

namespace halftone::parallel {
namespace {

Ref<ForwardKeys> keys_of(const Exchange& exchange, ForwardKeys::Kind kind) {
  return make_ref<ForwardKeys>(*exchange.device().context, kind, exchange.model_rank());
}

}  // namespace

ForwardWatch::ForwardWatch(const Exchange& exchange, bool is_deterministic, bool counts_rows)
    : exchange_(exchange),
      by_rank_(keys_of(exchange, ForwardKeys::Kind::kByRank)),
      by_microbatch_(is_deterministic ? keys_of(exchange, ForwardKeys::Kind::kByMicrobatch) : nullptr),
      counts_rows_(counts_rows) {}

void ForwardWatch::enter(const nn::Module& module, std::span<const Tensor> inputs) {
  const bool is_training = module.is_training() && scope().grad_enabled;
  if (is_training && counts_rows_ && !inputs.empty() && inputs[0].shape().rank() > 0) rows_ += inputs[0].shape()[0];
  if (!is_training || !by_microbatch_) return by_rank_->take();
  if (!by_microbatch_->is_in_microbatch()) {
    const auto ranks = static_cast<uint64_t>(exchange_.model_size());
    const uint64_t first = exchange_.device().context->take_microbatches(ranks);
    by_microbatch_->begin_microbatch(first + static_cast<uint64_t>(exchange_.model_rank()));
  }
  by_microbatch_->take();
}

}  // namespace halftone::parallel
