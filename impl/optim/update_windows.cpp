#include "optim/update_windows.h"

#include <algorithm>
#include <utility>

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

}  // namespace

std::vector<UpdateWindow> plan_windows(ContextDevice& device, const std::vector<OwnedParameter>& parameters,
                                       const std::vector<size_t>& numbers) {
  const auto memory_of = [&](size_t number) { return parameters[number].parameter().state_memory().get(); };
  if (std::none_of(numbers.begin(), numbers.end(), memory_of)) return {};
  std::vector<UpdateWindow> windows;
  for (const size_t number : numbers) {
    const auto same = std::find_if(windows.begin(), windows.end(),
                                   [&](const UpdateWindow& window) { return window.memory == memory_of(number); });
    UpdateWindow& window =
        same == windows.end() ? windows.emplace_back(UpdateWindow{memory_of(number), {}, {}}) : *same;
    window.parameters.push_back(number);
  }
  for (UpdateWindow& window : windows) window.chunks = chunks_of(device, parameters, window.parameters);
  return windows;
}

void update_in_windows(const std::vector<UpdateWindow>& windows, const std::vector<OwnedParameter>& parameters,
                       const std::function<void(const MultiTensor<UpdateSlot>& slots)>& update) {
  StateMemory* leaving = nullptr;
  for (size_t i = 0; i < windows.size(); ++i) {
    const UpdateWindow& window = windows[i];
    StateMemory* const next = i + 1 < windows.size() ? windows[i + 1].memory : nullptr;
    if (window.memory != nullptr) window.memory->fetch();
    if (next != nullptr) next->start_fetch();
    const DeviceArray<UpdateSlot> slots =
        slots_of(parameters.front().parameter().device(), parameters, window.parameters);
    update({.slots = slots.device(),
            .chunks = window.chunks.device(),
            .slot_count = slots.size(),
            .chunk_count = window.chunks.size()});
    if (window.memory != nullptr) window.memory->start_put_back();
    if (leaving != nullptr) leaving->finish_put_back();
    leaving = window.memory;
  }
  if (leaving != nullptr) leaving->finish_put_back();
}

}  // namespace halftone::optim
