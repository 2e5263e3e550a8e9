// The windows over an element are exactly those that cover it.
#include "cuda/pool/window.h"

#include <gtest/gtest.h>

#include <string>

#include "cuda/resample/neighbours.h"

namespace halftone::cuda {
namespace {

bool covers(const PoolAxis& axis, int64_t position, int64_t element) {
  const Taps taps = taps_of(axis, position);
  for (int64_t i = 0; i < taps.count; ++i) {
    if (taps.first + i * taps.step == element) return true;
  }
  return false;
}

void expect_all_windows(const PoolAxis& axis) {
  for (int64_t element = 0; element < axis.size; ++element) {
    const PositionRange range = positions_over(axis, element);
    for (int64_t position = 0; position < axis.positions; ++position) {
      const bool is_inside = position >= range.begin && position < range.end;
      EXPECT_TRUE(is_inside || !covers(axis, position, element)) << element << " " << position;
      if (axis.dilation > 1) continue;
      EXPECT_EQ(is_inside, covers(axis, position, element)) << element << " " << position;
    }
  }
}

TEST(PoolWindows, OverAnElementAreFoundForEverySizeAndStep) {
  for (const int64_t size : {1, 2, 5, 9}) {
    for (const int64_t kernel : {1, 2, 3, 7}) {
      for (const int64_t stride : {1, 2, 5}) {
        for (const int64_t dilation : {1, 2}) {
          SCOPED_TRACE(std::to_string(size) + " " + std::to_string(kernel) + " " + std::to_string(stride));
          expect_all_windows({.size = size,
                              .positions = 6,
                              .kernel = kernel,
                              .stride = stride,
                              .padding = kernel / 2,
                              .dilation = dilation});
        }
      }
    }
  }
}

TEST(PoolWindows, OverAnElementAreFoundWhereTheyAreAdaptive) {
  for (const int64_t size : {1, 2, 5, 12}) {
    for (const int64_t positions : {1, 3, 5, 17}) {
      expect_all_windows({.size = size, .positions = positions, .is_adaptive = true});
    }
  }
}

TEST(ResampleNeighbours, AreEqualInBothWidthsOfArithmetic) {
  for (const ResampleMode mode : {ResampleMode::kNearest, ResampleMode::kLinear}) {
    for (const bool aligns : {false, true}) {
      const ResampleAxis axis = {.size = 7, .count = 17, .mode = mode, .aligns_corners = aligns};
      for (int64_t p = 0; p < axis.count; ++p) {
        const Neighbours narrow = neighbours_at(axis, p);
        const Neighbours wide = detail::neighbours_of<__int128>(axis, p, axis.size, axis.count);
        EXPECT_EQ(narrow.first, wide.first);
        EXPECT_EQ(narrow.second, wide.second);
        EXPECT_EQ(narrow.share, wide.share);
      }
    }
  }
}

TEST(ResampleNeighbours, BeginAtTheFirstPositionThatReadsAnElement) {
  const ResampleAxis axis = {.size = 5, .count = 13, .mode = ResampleMode::kLinear};
  for (int64_t element = 0; element <= axis.size; ++element) {
    const int64_t first = first_position_at(axis, element);
    for (int64_t p = 0; p < axis.count; ++p) EXPECT_EQ(p >= first, neighbours_at(axis, p).first >= element);
  }
}

}  // namespace
}  // namespace halftone::cuda
