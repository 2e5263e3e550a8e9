// Parts of a tensor, such as one rank of several holds: a box of its elements, or a range of the elements of a box.
// Plain data and pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/shape.h"

namespace halftone {

// The elements with indices in [begin, begin + size) in each dimension of `view`. That is the tensor's shape, or
// another one of as many elements: three matrices in one tensor [3h, d] are cut alike in the view [3, h, d].
struct Box {
  Shape view;
  Shape begin;
  Shape size;

  friend bool operator==(const Box&, const Box&) = default;
};

// Null stands for all of a tensor.
inline bool is_same_box(const Box* a, const Box* b) { return a == b || (a != nullptr && b != nullptr && *a == *b); }

// Elements [begin, end) of a box, counted in its row-major order.
struct BoxRange {
  const Box* box = nullptr;  // null: all of the tensor
  int64_t begin = 0;
  int64_t end = 0;
};

// Elements that follow one another both in the flattened tensor and in the flattened box.
struct BoxRun {
  int64_t in_tensor = 0;  // the first element's place
  int64_t in_box = 0;
  int64_t count = 0;

  int64_t end_in_tensor() const { return in_tensor + count; }
};

// The runs of a range, in ascending order. REQUIRES: the box outlives the object.
class BoxRuns {
 public:
  explicit BoxRuns(const BoxRange& range);

  int64_t count() const { return count_; }
  BoxRun operator[](int64_t number) const;
  // The first run with elements behind `place` in the tensor, or with that element; count() if there is none.
  int64_t first_behind(int64_t place) const;

 private:
  int64_t start_of_row(int64_t row) const;

  BoxRange range_;
  int outer_ = 0;           // the leading dimensions that number the rows; a row is all that remains
  int64_t row_length_ = 0;  // in elements
  int64_t first_row_ = 0;
  int64_t count_ = 0;
};

// Calls take(in_a, in_b, count) for each run of elements that are in both ranges, in ascending order. in_a and in_b are
// places in the two boxes, counted as BoxRange::begin is.
template <class Take>
void for_each_common_run(const BoxRange& a, const BoxRange& b, Take&& take) {
  const BoxRuns runs_a(a), runs_b(b);
  int64_t i = 0, j = 0;
  while (i < runs_a.count() && j < runs_b.count()) {
    const BoxRun x = runs_a[i], y = runs_b[j];
    const int64_t first = std::max(x.in_tensor, y.in_tensor);
    const int64_t end = std::min(x.end_in_tensor(), y.end_in_tensor());
    if (first < end) {
      take(x.in_box + (first - x.in_tensor), y.in_box + (first - y.in_tensor), end - first);
      x.end_in_tensor() == end ? ++i : ++j;
    } else if (x.end_in_tensor() <= first) {
      i = runs_a.first_behind(first);
    } else {
      j = runs_b.first_behind(first);
    }
  }
}

// The number of elements that are in both.
int64_t common_count(const BoxRange& a, const BoxRange& b);
// True if every element of `inner` is in `outer`.
bool contains(const BoxRange& outer, const BoxRange& inner);

// True if the box is within its view, and that has `numel` elements. Sizes may come from a file.
bool is_box_of(const Box& box, int64_t numel);

// "elements 3 to 8", or "elements 0 to 6 of [0:2, 3:6] in [2, 8]".
std::string text_of(const BoxRange& range);

}  // namespace halftone
