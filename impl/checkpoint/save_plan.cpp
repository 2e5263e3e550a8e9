#include "checkpoint/save_plan.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "checkpoint/coverage.h"

namespace halftone::checkpoint {

namespace {

// One rank's part of a tensor.
struct Held {
  const IndexTensor* tensor;
  size_t rank;
  size_t place;  // among the rank's tensors

  const std::string& name() const { return tensor->name; }
  const TensorPart& part() const { return tensor->parts[0]; }
  bool is_empty() const { return part().begin == part().end; }
};

bool has_same_part(const Held& a, const Held& b) {
  return !comes_before(a.part(), b.part()) && !comes_before(b.part(), a.part());
}

// Tensor by tensor; then in the order of the parts, and for the same part the lowest rank first.
std::vector<Held> sorted_parts(const std::vector<Index>& held) {
  std::vector<Held> parts;
  for (size_t rank = 0; rank < held.size(); ++rank) {
    const std::vector<IndexTensor>& tensors = held[rank].tensors;
    for (size_t place = 0; place < tensors.size(); ++place) parts.push_back({&tensors[place], rank, place});
  }
  std::sort(parts.begin(), parts.end(), [](const Held& a, const Held& b) {
    const int names = a.name().compare(b.name());
    if (names != 0) return names < 0;
    return has_same_part(a, b) ? a.rank < b.rank : comes_before(a.part(), b.part());
  });
  return parts;
}

// `parts` are those of one tensor.
void plan_tensor(std::span<const Held> parts, std::vector<std::string>& plan) {
  IndexTensor written = *parts.front().tensor;
  written.parts.clear();
  const bool has_elements = numel(written.shape) > 0;
  const Held* last = nullptr;  // the last part that is written
  for (const Held& held : parts) {
    require_alike(written, *held.tensor);
    if ((has_elements && held.is_empty()) || (last != nullptr && has_same_part(held, *last))) continue;
    written.parts.push_back(held.part());
    plan[held.rank][held.place] = kWritten;
    last = &held;
  }
  require_coverage(written);
}

}  // namespace

std::vector<std::string> plan_save(const std::vector<Index>& held) {
  std::vector<std::string> plan;
  for (const Index& rank : held) plan.emplace_back(rank.tensors.size(), kLeft);
  const std::vector<Held> parts = sorted_parts(held);
  for (auto begin = parts.begin(); begin != parts.end();) {
    const auto end = std::find_if(begin, parts.end(), [&](const Held& next) { return next.name() != begin->name(); });
    plan_tensor({begin, end}, plan);
    begin = end;
  }
  return plan;
}

}  // namespace halftone::checkpoint
