#include "trainer/step_state.h"

#include <utility>

#include "tensor/factory.h"

namespace halftone::trainer {

namespace {

bool fits(const Tensor& copy, const Tensor& buffer) {
  return copy.defined() && copy.dtype() == buffer.dtype() && copy.shape() == buffer.shape();
}

}  // namespace

StepState::StepState(Ref<nn::Module> model, Ref<data::Sampler> sampler, Ref<Context> context)
    : model_(std::move(model)), sampler_(std::move(sampler)), context_(std::move(context)) {}

void StepState::keep() {
  const Ref<const nn::Module::Contents> contents = model_->contents();
  copies_.resize(contents->buffers.size());
  for (size_t i = 0; i < copies_.size(); ++i) {
    const Tensor& buffer = contents->buffers[i].tensor;
    if (!fits(copies_[i], buffer)) copies_[i] = empty_like(buffer);
    copy(buffer, copies_[i]);
  }
  cursor_ = sampler_->cursor();
  sequences_ = context_->sequences_taken();
  microbatches_ = context_->microbatches_taken();
}

void StepState::restore() {
  const Ref<const nn::Module::Contents> contents = model_->contents();
  for (size_t i = 0; i < copies_.size() && i < contents->buffers.size(); ++i) {
    copy(copies_[i], contents->buffers[i].tensor);
  }
  sampler_->set_cursor(cursor_);
  context_->set_generator(context_->seed(), sequences_);
  context_->set_microbatches_taken(microbatches_);
}

}  // namespace halftone::trainer
