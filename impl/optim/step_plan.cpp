#include "optim/step_plan.h"

#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "optim/recorded_update.h"
#include "tensor/factory.h"

namespace halftone::optim {

namespace {

std::vector<NormNode> nodes_of(const std::vector<Chunk>& chunks, const std::vector<GradSlot>& grads) {
  std::vector<NormNode> nodes;
  nodes.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    const GradSlot& slot = grads[static_cast<size_t>(chunk.slot)];
    nodes.push_back({.parameter = slot.parameter,
                     .first_block = slot.first_block + chunk.begin / kBlockSize,
                     .blocks = (chunk.end - chunk.begin + kBlockSize - 1) / kBlockSize});
  }
  return nodes;
}

}  // namespace

void StepPlan::follow(ContextDevice& device, const OwnedParameters& owned, RecordedUpdate* recording) {
  const State found = state(owned);
  if (found == State::kMoved && lists_.windows.empty() && !lists_.is_recorded) {
    move(owned, recording);
  } else if (found != State::kCurrent) {
    lists_ = make(device, owned);
  }
  lists_.is_recorded = lists_.is_recorded || recording != nullptr;
}

// Allocates nothing: between unscale and step the plan stays current, and the step cannot fail for memory.
StepPlan::State StepPlan::state(const OwnedParameters& owned) const {
  size_t next = 0;
  bool has_moved = false;
  for (size_t i = 0; i < owned.list().size(); ++i) {
    const Parameter& parameter = owned[i].parameter();
    if (parameter.accumulator().gradient().is_invalid()) return State::kOther;
    if (!parameter.has_shard_grad()) continue;
    if (next == lists_.parameters.size() || lists_.parameters[next] != i) return State::kOther;
    const GradSlot& slot = lists_.grads.host()[next++];
    has_moved = has_moved || slot.grad != owned[i].grad_address() || slot.grad_dtype != owned[i].grad_dtype();
  }
  if (next == 0 || next != lists_.parameters.size()) return State::kOther;
  return has_moved ? State::kMoved : State::kCurrent;
}

// Allocates nothing either, so that steps whose gradients move cost no more than a transfer of the lists.
void StepPlan::move(const OwnedParameters& owned, RecordedUpdate* recording) {
  const auto follow = [&](auto& slots) {
    for (size_t i = 0; i < slots.size(); ++i) {
      const OwnedParameter& parameter = owned[lists_.parameters[i]];
      slots[i].grad = parameter.grad_address();
      slots[i].grad_dtype = parameter.grad_dtype();
    }
  };
  lists_.grads.change_on_host(follow);
  lists_.updates.change_on_host(follow);
  const auto upload = [this] {
    lists_.grads.upload();
    lists_.updates.upload();
  };
  const auto drop = [this] { lists_ = {}; };  // the device has not got the lists
  try {
    recording != nullptr ? recording->upload_later(upload, drop) : upload();
  } catch (...) {
    drop();
    throw;
  }
}

StepPlan::Lists StepPlan::make(ContextDevice& device, const OwnedParameters& owned) {
  std::vector<size_t> parameters = owned.with_gradient();
  std::vector<GradSlot> grads;
  std::vector<UpdateSlot> updates;
  std::vector<ChunkRange> ranges;
  for (size_t i : parameters) {
    const ChunkRange range = owned[i].range();
    grads.push_back({.grad = owned[i].grad_address(),
                     .grad_dtype = owned[i].grad_dtype(),
                     .parameter = static_cast<int32_t>(i),
                     .size = range.size,
                     .first_block = range.first_block,
                     .updates = owned[i].updates()});
    ranges.push_back(range);
  }
  std::vector<Chunk> chunks = plan_chunks(ranges);
  Lists lists;
  lists.windows = plan_windows(device, owned.list(), parameters);
  if (owned.ranks()) lists.set = owned.ranks()->set_of(owned[parameters.front()].parameter());
  for (size_t i = 0; i < parameters.size() && lists.windows.empty(); ++i) {
    updates.push_back(owned[parameters[i]].slot(static_cast<int32_t>(parameters[i])));
  }
  lists.partials = empty(device, DType::kF64, {static_cast<int64_t>(chunks.size())}, Category::kOptimizer);
  lists.nodes = {device, nodes_of(chunks, grads)};
  lists.grads = {device, std::move(grads)};
  lists.updates = {device, std::move(updates)};
  lists.chunks = {device, std::move(chunks)};
  lists.parameters = std::move(parameters);
  return lists;
}

}  // namespace halftone::optim
