#include "optim/update_windows.h"

#include <algorithm>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "autograd/placement/state_memory.h"

namespace halftone::optim {
namespace {

DeviceArray<Chunk> chunks_of(ContextDevice& device, const std::vector<OwnedParameter>& parameters,
                             const std::vector<size_t>& numbers) {
  std::vector<ChunkRange> ranges;
  for (const size_t number : numbers) ranges.push_back(parameters[number].range());
  return {device, plan_chunks(ranges)};
}

// The addresses of state change whenever it is brought.
DeviceArray<UpdateSlot> slots_of(ContextDevice& device, const std::vector<OwnedParameter>& parameters,
                                 const std::vector<size_t>& numbers) {
  std::vector<UpdateSlot> slots;
  for (const size_t number : numbers) slots.push_back(parameters[number].slot(static_cast<int32_t>(number)));
  return {device, std::move(slots)};
}

// The window of a parameter, made if it is the first one there.
UpdateWindow& window_for(std::vector<UpdateWindow>& windows, const Parameter& parameter) {
  StateMemory* const memory = parameter.placement().state_memory().get();
  const size_t set = parameter.placement().ranks() ? parameter.placement().ranks()->set_of(parameter) : 0;
  const auto same = std::find_if(windows.begin(), windows.end(), [&](const UpdateWindow& window) {
    return window.memory == memory && window.set == set;
  });
  return same != windows.end() ? *same : windows.emplace_back(UpdateWindow{.memory = memory, .set = set});
}

MultiTensor<UpdateSlot> listed(const DeviceArray<UpdateSlot>& slots, const UpdateWindow& window) {
  return {.slots = slots.device(),
          .chunks = window.chunks.device(),
          .slot_count = slots.size(),
          .chunk_count = window.chunks.size()};
}

void update_on_device(const std::vector<UpdateWindow>& windows, const WindowCalls& calls) {
  for (const UpdateWindow& window : windows) {
    calls.update(listed(window.slots, window));
    calls.updated(window.set, window.parameters);
  }
}

// Sending the weights of a set may bring its masters, so all sets wait for the last window to leave.
void update_offloaded(const std::vector<UpdateWindow>& windows, const std::vector<OwnedParameter>& parameters,
                      const WindowCalls& calls) {
  StateMemory* leaving = nullptr;
  for (size_t i = 0; i < windows.size(); ++i) {
    const UpdateWindow& window = windows[i];
    StateMemory* const next = i + 1 < windows.size() ? windows[i + 1].memory : nullptr;
    if (window.memory != nullptr) window.memory->fetch();
    if (next != nullptr) next->start_fetch();
    const DeviceArray<UpdateSlot> slots =
        slots_of(parameters.front().parameter().device(), parameters, window.parameters);
    calls.update(listed(slots, window));
    if (window.memory != nullptr) window.memory->start_put_back();
    if (leaving != nullptr) leaving->finish_put_back();
    leaving = window.memory;
  }
  if (leaving != nullptr) leaving->finish_put_back();
}

// The numbers of all parameters of one set after another.
void tell_sets(const std::vector<UpdateWindow>& windows, const WindowCalls& calls) {
  std::vector<size_t> parameters;
  for (size_t i = 0; i < windows.size(); ++i) {
    parameters.insert(parameters.end(), windows[i].parameters.begin(), windows[i].parameters.end());
    if (i + 1 < windows.size() && windows[i + 1].set == windows[i].set) continue;
    calls.updated(windows[i].set, parameters);
    parameters.clear();
  }
}

}  // namespace

std::vector<UpdateWindow> plan_windows(ContextDevice& device, const std::vector<OwnedParameter>& parameters,
                                       const std::vector<size_t>& numbers) {
  std::vector<UpdateWindow> windows;
  for (const size_t number : numbers) {
    window_for(windows, parameters[number].parameter()).parameters.push_back(number);
  }
  if (windows.size() == 1 && windows[0].memory == nullptr) return {};
  std::stable_sort(windows.begin(), windows.end(),
                   [](const UpdateWindow& a, const UpdateWindow& b) { return a.set < b.set; });
  for (UpdateWindow& window : windows) {
    window.chunks = chunks_of(device, parameters, window.parameters);
    if (window.memory == nullptr) window.slots = slots_of(device, parameters, window.parameters);
  }
  return windows;
}

void update_in_windows(const std::vector<UpdateWindow>& windows, const std::vector<OwnedParameter>& parameters,
                       const WindowCalls& calls) {
  const bool is_offloaded =
      std::any_of(windows.begin(), windows.end(), [](const UpdateWindow& window) { return window.memory != nullptr; });
  if (!is_offloaded) return update_on_device(windows, calls);
  update_offloaded(windows, parameters, calls);
  tell_sets(windows, calls);
}

}  // namespace halftone::optim
