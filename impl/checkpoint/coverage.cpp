#include "checkpoint/coverage.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"

namespace halftone::checkpoint {

namespace {

int64_t size_of_box(const IndexTensor& tensor, const Box* box) {
  return numel(box == nullptr ? tensor.shape : box->size);
}

std::string fault_at(bool is_gap, const Box* box, int64_t begin, int64_t end) {
  return (is_gap ? "no rank has " : "two ranks have ") + text_of({.box = box, .begin = begin, .end = end});
}

// `parts` have one box, and are in order.
std::string fault_of_ranges(const IndexTensor& tensor, std::span<const TensorPart> parts) {
  const Box* box = parts.front().box.get();
  const int64_t size = size_of_box(tensor, box);
  if (box != nullptr && !is_box_of(*box, numel(tensor.shape))) {
    return "a rank has " + text_of(parts.front().range()) + ", which is no box of " + ShapeText(tensor.shape).text;
  }
  int64_t position = 0;
  for (const TensorPart& part : parts) {
    if (part.begin != position) {
      return fault_at(part.begin > position, box, std::min(part.begin, position), std::max(part.begin, position));
    }
    if (part.end > size) {
      return "a rank has elements up to " + std::to_string(part.end) + " of " +
             ShapeText(box == nullptr ? tensor.shape : box->size).text;
    }
    position = part.end;
  }
  return position == size ? "" : fault_at(true, box, position, size);
}

// The places at which boxes begin in a dimension, and its end.
std::vector<int64_t> cuts_of(const std::vector<const Box*>& boxes, int dimension) {
  std::vector<int64_t> cuts = {boxes.front()->view[dimension]};
  for (const Box* box : boxes) cuts.push_back(box->begin[dimension]);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// True if each box reaches from one cut to the next in each dimension. Boxes differ, so as many boxes as cells are all.
bool are_grid(const std::vector<const Box*>& boxes) {
  const Shape& view = boxes.front()->view;
  size_t cells = 1;
  for (int i = 0; i < view.rank(); ++i) {
    const std::vector<int64_t> cuts = cuts_of(boxes, i);
    for (const Box* box : boxes) {
      if (!(box->view == view)) return false;
      const auto next = std::upper_bound(cuts.begin(), cuts.end(), box->begin[i]);
      if (next == cuts.end() || *next != box->begin[i] + box->size[i]) return false;
    }
    cells *= cuts.size() - 1;
    if (cells > boxes.size()) return false;
  }
  return cells == boxes.size();
}

bool has_same_box(const TensorPart& a, const TensorPart& b) { return is_same_box(a.box.get(), b.box.get()); }

}  // namespace

bool comes_before(const TensorPart& a, const TensorPart& b) {
  if (has_same_box(a, b)) return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  if (!a.box || !b.box) return !a.box;
  for (const Shape Box::*list : {&Box::begin, &Box::size, &Box::view}) {
    const Shape &one = (*a.box).*list, &other = (*b.box).*list;
    if (one == other) continue;
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
  }
  return false;
}

std::string fault_of_coverage(const IndexTensor& tensor) {
  std::vector<const Box*> boxes;
  for (auto begin = tensor.parts.begin(); begin != tensor.parts.end();) {
    const auto end =
        std::find_if(begin, tensor.parts.end(), [&](const auto& part) { return !has_same_box(*begin, part); });
    std::string fault = fault_of_ranges(tensor, {begin, end});
    if (!fault.empty()) return fault;
    boxes.push_back(begin->box.get());
    begin = end;
  }
  if (boxes.empty()) return numel(tensor.shape) == 0 ? "" : fault_at(true, nullptr, 0, numel(tensor.shape));
  if (boxes.front() == nullptr ? boxes.size() == 1 : are_grid(boxes)) return "";
  return "the boxes that ranks have are no grid that covers " + std::string(ShapeText(tensor.shape).text) +
         ", such as " + text_of({.box = boxes.back(), .begin = 0, .end = size_of_box(tensor, boxes.back())});
}

void require_coverage(const IndexTensor& tensor) {
  const std::string fault = fault_of_coverage(tensor);
  if (!fault.empty()) fail(Code::kFormat, "", "tensor %.64s: %s", tensor.name.c_str(), fault.c_str());
}

void require_alike(const IndexTensor& one, const IndexTensor& other) {
  if (one.dtype == other.dtype && one.shape == other.shape) return;
  fail(Code::kFormat, "", "tensor %.64s is %s %s on one rank and %s %s on another", one.name.c_str(),
       name_of(one.dtype), ShapeText(one.shape).text, name_of(other.dtype), ShapeText(other.shape).text);
}

}  // namespace halftone::checkpoint
