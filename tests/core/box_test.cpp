// Boxes of tensors, against lists of their elements' places.
#include "core/box.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace halftone {
namespace {

// The place in the tensor of each element of a range.
std::vector<int64_t> places_of(const BoxRange& range) {
  std::vector<int64_t> places;
  for (int64_t i = range.begin; i < range.end; ++i) {
    int64_t left = i, place = range.box == nullptr ? i : 0;
    for (int d = range.box == nullptr ? -1 : range.box->view.rank() - 1; d >= 0; --d) {
      const int64_t index = left % range.box->size[d] + range.box->begin[d];
      left /= range.box->size[d];
      place += index * contiguous_strides(range.box->view)[d];
    }
    places.push_back(place);
  }
  return places;
}

// Parts of a tensor of 48 elements.
const Box kBoxes[] = {
    {{6, 8}, {0, 0}, {6, 8}},
    {{6, 8}, {2, 0}, {3, 8}},
    {{6, 8}, {0, 5}, {6, 2}},
    {{6, 8}, {1, 3}, {4, 4}},
    {{2, 3, 8}, {0, 1, 0}, {2, 2, 8}},
    {{2, 3, 8}, {1, 0, 2}, {1, 3, 3}},
    {{2, 3, 2, 4}, {0, 2, 0, 0}, {2, 1, 2, 4}},
    {{48}, {7}, {20}},
    {{1, 48, 1}, {0, 10, 0}, {1, 5, 1}},
};

std::vector<BoxRange> all_ranges() {
  std::vector<BoxRange> ranges;
  for (int64_t begin = 0; begin <= 48; begin += 5) {
    for (int64_t end = begin; end <= 48; end += 6) ranges.push_back({.box = nullptr, .begin = begin, .end = end});
  }
  for (const Box& box : kBoxes) {
    const int64_t size = numel(box.size);
    for (const auto& [begin, end] : {std::pair{int64_t{0}, size}, {size / 3, size - 1}, {size / 2, size / 2}}) {
      ranges.push_back({.box = &box, .begin = begin, .end = end});
    }
  }
  return ranges;
}

TEST(Box, RunsAreItsElementsInOrder) {
  for (const BoxRange& range : all_ranges()) {
    SCOPED_TRACE(text_of(range));
    const BoxRuns runs(range);
    std::vector<int64_t> places;
    int64_t in_box = range.begin;
    for (int64_t i = 0; i < runs.count(); ++i) {
      EXPECT_EQ(runs[i].in_box, in_box);
      EXPECT_GT(runs[i].count, 0);
      for (int64_t k = 0; k < runs[i].count; ++k) places.push_back(runs[i].in_tensor + k);
      in_box += runs[i].count;
    }
    EXPECT_EQ(places, places_of(range));
    for (int64_t place = 0; place < 48; ++place) {
      int64_t expected = 0;
      while (expected < runs.count() && runs[expected].end_in_tensor() <= place) ++expected;
      EXPECT_EQ(runs.first_behind(place), expected);
    }
  }
}

TEST(Box, CommonRunsAreTheElementsOfBoth) {
  const std::vector<BoxRange> ranges = all_ranges();
  for (const BoxRange& a : ranges) {
    for (const BoxRange& b : ranges) {
      std::map<int64_t, int64_t> expected, found;  // places in b, by place in a
      std::map<int64_t, int64_t> in_b;             // by place in the tensor
      const std::vector<int64_t> places_a = places_of(a), places_b = places_of(b);
      for (size_t i = 0; i < places_b.size(); ++i) in_b[places_b[i]] = b.begin + static_cast<int64_t>(i);
      for (size_t i = 0; i < places_a.size(); ++i) {
        const auto both = in_b.find(places_a[i]);
        if (both != in_b.end()) expected[a.begin + static_cast<int64_t>(i)] = both->second;
      }
      for_each_common_run(a, b, [&](int64_t from, int64_t to, int64_t count) {
        for (int64_t k = 0; k < count; ++k) found[from + k] = to + k;
      });
      EXPECT_EQ(found, expected) << text_of(a) << " and " << text_of(b);
      EXPECT_EQ(contains(a, b), expected.size() == places_b.size());
    }
  }
}

// As few runs as the elements allow: a cut of the leading dimension is one.
TEST(Box, WholeTrailingDimensionsAreOneRun) {
  EXPECT_EQ(BoxRuns({.box = &kBoxes[1], .begin = 0, .end = 24}).count(), 1);
  EXPECT_EQ(BoxRuns({.box = &kBoxes[2], .begin = 0, .end = 12}).count(), 6);
  EXPECT_EQ(BoxRuns({.box = &kBoxes[4], .begin = 0, .end = 32}).count(), 2);
}

TEST(Box, OnlyBoxesWithinTheirViewFit) {
  for (const Box& box : kBoxes) EXPECT_TRUE(is_box_of(box, 48));
  EXPECT_FALSE(is_box_of(kBoxes[0], 47));
  EXPECT_FALSE(is_box_of({{6, 8}, {3, 0}, {4, 8}}, 48));
  EXPECT_FALSE(is_box_of({{6, 8}, {-1, 0}, {4, 8}}, 48));
  EXPECT_FALSE(is_box_of({{6, 8}, {0, 0}, {6, -1}}, 48));
  EXPECT_FALSE(is_box_of({{6, 8}, {0}, {6, 8}}, 48));
  EXPECT_FALSE(is_box_of({{6, 8}, {1, int64_t{1} << 62}, {1, int64_t{1} << 62}}, 48));
  EXPECT_TRUE(is_box_of({{}, {}, {}}, 1));
}

TEST(Box, ATextNamesElementsAndBox) {
  EXPECT_EQ(text_of({.box = nullptr, .begin = 3, .end = 8}), "elements 3 to 8");
  EXPECT_EQ(text_of({.box = &kBoxes[3], .begin = 0, .end = 6}), "elements 0 to 6 of [1:5, 3:7] in [6, 8]");
}

}  // namespace
}  // namespace halftone
