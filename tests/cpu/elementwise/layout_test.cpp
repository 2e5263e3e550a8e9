#include "cpu/simd/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace halftone::cpu {
namespace {

// Memory for the views; the test uses only its addresses.
std::byte storage[1024];

// Offsets, in elements, of [begin, begin + count), as the layout's runs give them, and the number of runs.
struct Walk {
  std::vector<int64_t> offsets;
  int runs = 0;
};

Walk walk(const Layout& layout, int64_t begin, int64_t count) {
  Walk result;
  layout.for_each_run(begin, count, [&](const Strided& run, int64_t offset, int64_t length) {
    EXPECT_EQ(offset, static_cast<int64_t>(result.offsets.size()));
    const int64_t first = (run.data - storage) / static_cast<int64_t>(size_of(run.dtype));
    for (int64_t i = 0; i < length; ++i) result.offsets.push_back(first + i * run.stride);
    ++result.runs;
  });
  return result;
}

std::vector<int64_t> expected_offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < numel(shape); ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

struct Case {
  Shape shape;
  Shape strides;
  int runs;
};

const Case kCases[] = {
    {{}, {}, 1},
    {{1, 1}, {7, 9}, 1},
    {{4, 6}, {6, 1}, 1},
    {{4, 1, 6}, {6, 99, 1}, 1},
    {{4, 6}, {12, 2}, 1},
    {{4, 6}, {8, 1}, 4},
    {{4, 6}, {1, 4}, 4},
    {{7, 5}, {5, 35}, 7},
    {{4, 6}, {0, 1}, 4},
    {{4, 6}, {1, 0}, 4},
    {{4, 6}, {6, 0}, 4},
    {{4, 6}, {0, 0}, 1},
    {{2, 3, 4}, {12, 4, 1}, 1},
    {{2, 3, 4}, {24, 4, 1}, 2},
    {{2, 3, 4}, {24, 8, 1}, 6},
};

TEST(Layout, VisitsEveryElementInAsFewRunsAsThereAre) {
  for (const Case& test : kCases) {
    SCOPED_TRACE(testing::Message() << ShapeText(test.shape).text << " by " << ShapeText(test.strides).text);
    const Layout layout({storage, DType::kF32, test.shape, test.strides});
    const Walk all = walk(layout, 0, numel(test.shape));
    EXPECT_EQ(all.offsets, expected_offsets(test.shape, test.strides));
    EXPECT_EQ(all.runs, test.runs);
  }
}

TEST(Layout, BeginsAnywhere) {
  const Layout layout({storage, DType::kBF16, {5, 3, 4}, {1, 20, 5}});
  const std::vector<int64_t> expected = expected_offsets({5, 3, 4}, {1, 20, 5});
  for (int64_t begin = 0; begin < 60; ++begin) {
    const std::vector<int64_t> part(expected.begin() + begin, expected.end());
    EXPECT_EQ(walk(layout, begin, 60 - begin).offsets, part);
  }
}

TEST(Layout, KnowsDenseAndConstantOperands) {
  EXPECT_TRUE(Layout({storage, DType::kF32, {4, 6}, {6, 1}}).is_dense());
  EXPECT_TRUE(Layout({storage, DType::kF32, {1}, {0}}).is_dense());
  EXPECT_FALSE(Layout({storage, DType::kF32, {4, 6}, {8, 1}}).is_dense());
  EXPECT_TRUE(Layout({storage, DType::kF32, {4, 6}, {0, 0}}).is_constant());
  EXPECT_FALSE(Layout({storage, DType::kF32, {4, 6}, {0, 1}}).is_constant());
}

}  // namespace
}  // namespace halftone::cpu
