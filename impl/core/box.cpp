#include "core/box.h"

namespace halftone {

namespace {

bool is_whole_dimension(const Box& box, int dimension) {
  return box.begin[dimension] == 0 && box.size[dimension] == box.view[dimension];
}

// The number of leading dimensions before the one that is the last to be cut.
int outer_dimensions(const Box& box) {
  int last = box.view.rank() - 1;
  while (last > 0 && is_whole_dimension(box, last)) --last;
  return std::max(last, 0);
}

}  // namespace

BoxRuns::BoxRuns(const BoxRange& range) : range_(range) {
  if (range.begin >= range.end) return;
  if (range.box == nullptr) {
    row_length_ = range.end;
    count_ = 1;
    return;
  }
  outer_ = outer_dimensions(*range.box);
  row_length_ = 1;
  for (int i = outer_; i < range.box->size.rank(); ++i) row_length_ *= range.box->size[i];
  first_row_ = range.begin / row_length_;
  count_ = (range.end - 1) / row_length_ - first_row_ + 1;
}

// The place of a row's first element in the tensor.
int64_t BoxRuns::start_of_row(int64_t row) const {
  if (range_.box == nullptr || range_.box->view.rank() == 0) return 0;
  const Box& box = *range_.box;
  const Shape strides = contiguous_strides(box.view);
  int64_t place = box.begin[outer_] * strides[outer_];
  for (int i = outer_ - 1; i >= 0; --i) {
    place += (row % box.size[i] + box.begin[i]) * strides[i];
    row /= box.size[i];
  }
  return place;
}

BoxRun BoxRuns::operator[](int64_t number) const {
  const int64_t row = first_row_ + number, start = row * row_length_;
  const int64_t begin = std::max(range_.begin, start), end = std::min(range_.end, start + row_length_);
  return {.in_tensor = start_of_row(row) + (begin - start), .in_box = begin, .count = end - begin};
}

int64_t BoxRuns::first_behind(int64_t place) const {
  int64_t low = 0, high = count_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if ((*this)[middle].end_in_tensor() > place) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

int64_t common_count(const BoxRange& a, const BoxRange& b) {
  int64_t common = 0;
  for_each_common_run(a, b, [&](int64_t, int64_t, int64_t count) { common += count; });
  return common;
}

bool contains(const BoxRange& outer, const BoxRange& inner) {
  return common_count(outer, inner) == std::max<int64_t>(inner.end - inner.begin, 0);
}

bool is_box_of(const Box& box, int64_t numel) {
  const int rank = box.view.rank();
  if (box.begin.rank() != rank || box.size.rank() != rank) return false;
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    const int64_t size = box.view[i];
    if (size < 0 || box.begin[i] < 0 || box.size[i] < 0 || box.begin[i] > size || box.size[i] > size - box.begin[i]) {
      return false;
    }
    if (__builtin_mul_overflow(count, size, &count)) return false;
  }
  return count == numel;
}

std::string text_of(const BoxRange& range) {
  std::string text = "elements " + std::to_string(range.begin) + " to " + std::to_string(range.end);
  if (range.box == nullptr) return text;
  text += " of [";
  for (int i = 0; i < range.box->view.rank(); ++i) {
    const int64_t begin = range.box->begin[i];
    text += (i == 0 ? "" : ", ") + std::to_string(begin) + ":" + std::to_string(begin + range.box->size[i]);
  }
  return text + "] in " + ShapeText(range.box->view).text;
}

}  // namespace halftone
