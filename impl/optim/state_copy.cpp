#include "optim/state_copy.h"

#include <utility>

#include "core/error.h"
#include "optim/optimizer.h"
#include "optim/state.h"
#include "tensor/factory.h"
#include "tensor/scalar_texts.h"

namespace halftone::optim {

namespace {

// The keys of texts with an optimizer's scalars.
constexpr const char* kLead = "optimizer.";

StateDict with_scalars(const SharedStateDict& copy) {
  StateDict state;
  for (const StateTensor& entry : copy.state.tensors()) state.add_entry(entry.name, entry);
  add_scalars(state, copy.texts, kLead);
  return state;
}

StagedLoad staged(Optimizer& optimizer, const SharedStateDict& copy, const LoadOptions& options) {
  const StateDict state = in_memory(with_scalars(copy));
  try {
    return stage_state(optimizer, state, options);
  } catch (const Error& error) {
    if (error.code() != Code::kFormat) throw;
    fail(Code::kFormat, "state_dict", "state_dict does not fit optimizer: %s", error.what());
  }
}

}  // namespace

Ref<SharedStateDict> copy_state(const Ref<Optimizer>& optimizer) {
  const Ref<Optimizer> held = optimizer;
  const StateDict state = state_of(*held);
  StateDict copies;
  for (const StateTensor& entry : state.tensors()) {
    const Tensor moment = entry.reader ? in_memory(entry) : converted(entry.tensor, entry.dtype());
    copies.add_range(entry.name, moment, entry.global_shape(), entry.offset());
  }
  return make_ref<SharedStateDict>(std::move(copies), texts_of_scalars(state, kLead));
}

void load_copy(const Ref<Optimizer>& optimizer, const SharedStateDict& copy, const LoadOptions& options) {
  const Ref<Optimizer> held = optimizer;
  staged(*held, copy, options)();
}

}  // namespace halftone::optim
