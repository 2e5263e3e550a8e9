#include "checkpoint/save_plan.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>

#include "checkpoint/coverage.h"

namespace halftone::checkpoint {

namespace {

// One rank's range of a tensor.
struct Held {
  const IndexTensor* tensor;
  size_t rank;
  size_t place;  // among the rank's tensors

  const std::string& name() const { return tensor->name; }
  int64_t begin() const { return tensor->parts[0].begin; }
  int64_t end() const { return tensor->parts[0].end; }
  bool has_same_range(const Held& other) const { return begin() == other.begin() && end() == other.end(); }
};

// Tensor by tensor; then in the order of the ranges, and for the same range the lowest rank first.
std::vector<Held> sorted_ranges(const std::vector<Index>& held) {
  std::vector<Held> ranges;
  for (size_t rank = 0; rank < held.size(); ++rank) {
    const std::vector<IndexTensor>& tensors = held[rank].tensors;
    for (size_t place = 0; place < tensors.size(); ++place) ranges.push_back({&tensors[place], rank, place});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Held& a, const Held& b) {
    const auto key = [](const Held& held) { return std::tuple(held.begin(), held.end(), held.rank); };
    const int names = a.name().compare(b.name());
    return names != 0 ? names < 0 : key(a) < key(b);
  });
  return ranges;
}

// `ranges` are those of one tensor.
void plan_tensor(std::span<const Held> ranges, std::vector<std::string>& plan) {
  const IndexTensor& tensor = *ranges.front().tensor;
  const bool has_elements = numel(tensor.shape) > 0;
  Coverage coverage(tensor);
  const Held* last = nullptr;  // the last range that is written
  for (const Held& held : ranges) {
    require_alike(tensor, *held.tensor);
    const bool is_empty = has_elements && held.begin() == held.end();
    if (is_empty || (last != nullptr && held.has_same_range(*last))) continue;
    coverage.add(held.begin(), held.end());
    plan[held.rank][held.place] = kWritten;
    last = &held;
  }
  coverage.finish();
}

}  // namespace

std::vector<std::string> plan_save(const std::vector<Index>& held) {
  std::vector<std::string> plan;
  for (const Index& rank : held) plan.emplace_back(rank.tensors.size(), kLeft);
  const std::vector<Held> ranges = sorted_ranges(held);
  for (auto begin = ranges.begin(); begin != ranges.end();) {
    const auto end = std::find_if(begin, ranges.end(), [&](const Held& next) { return next.name() != begin->name(); });
    plan_tensor({begin, end}, plan);
    begin = end;
  }
  return plan;
}

}  // namespace halftone::checkpoint
