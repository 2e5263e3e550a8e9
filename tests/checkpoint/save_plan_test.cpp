// Who writes what, when several ranks write a checkpoint together.
#include "checkpoint/save_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

namespace halftone::checkpoint {
namespace {

IndexTensor range(const char* name, int64_t begin, int64_t end, const Shape& shape = {10}, DType dtype = DType::kF32) {
  return {.name = name, .dtype = dtype, .shape = shape, .parts = {{.begin = begin, .end = end}}};
}

std::vector<std::string> plan_of(const std::vector<std::vector<IndexTensor>>& ranks) {
  std::vector<Index> held;
  for (const std::vector<IndexTensor>& tensors : ranks) {
    Index index;
    index.tensors = tensors;
    held.push_back(index);
  }
  return plan_save(held);
}

std::string error_of(const std::vector<std::vector<IndexTensor>>& ranks) {
  try {
    plan_of(ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFormat);
    return error.what();
  }
  return "";
}

using Plan = std::vector<std::string>;

TEST(SavePlan, EachRankWritesItsRange) {
  EXPECT_EQ(plan_of({{range("a", 0, 4)}, {range("a", 4, 7)}, {range("a", 7, 10)}}), (Plan{"w", "w", "w"}));
  EXPECT_EQ(plan_of({{range("a", 7, 10)}, {range("a", 0, 4)}, {range("a", 4, 7)}}), (Plan{"w", "w", "w"}));
}

TEST(SavePlan, TheLowestRankWritesWhatSeveralHave) {
  EXPECT_EQ(plan_of({{range("a", 0, 10)}, {range("a", 0, 10)}}), (Plan{"w", "-"}));
  // Two replicas of two shards, in both orders of ranks.
  EXPECT_EQ(plan_of({{range("a", 0, 5)}, {range("a", 5, 10)}, {range("a", 0, 5)}, {range("a", 5, 10)}}),
            (Plan{"w", "w", "-", "-"}));
  EXPECT_EQ(plan_of({{range("a", 5, 10)}, {range("a", 5, 10)}, {range("a", 0, 5)}, {range("a", 0, 5)}}),
            (Plan{"w", "-", "w", "-"}));
}

TEST(SavePlan, NobodyWritesAnEmptyRange) {
  EXPECT_EQ(plan_of({{range("a", 0, 0)}, {range("a", 0, 10)}, {range("a", 10, 10)}}), (Plan{"-", "w", "-"}));
  EXPECT_EQ(plan_of({{range("a", 3, 3)}, {range("a", 0, 10)}}), (Plan{"-", "w"}));
}

TEST(SavePlan, ATensorWithoutElementsIsWrittenOnce) {
  EXPECT_EQ(plan_of({{range("a", 0, 0, {0, 4})}, {range("a", 0, 0, {0, 4})}}), (Plan{"w", "-"}));
}

TEST(SavePlan, TensorsNeedNotBeOnEveryRankOrInOneOrder) {
  EXPECT_EQ(plan_of({{range("b", 0, 10), range("a", 0, 5)}, {range("a", 5, 10), range("c", 0, 10), range("b", 0, 10)}}),
            (Plan{"ww", "ww-"}));
  EXPECT_EQ(plan_of({{}, {}}), (Plan{"", ""}));
}

TEST(SavePlan, AGapOrAnOverlapNamesTheTensor) {
  EXPECT_EQ(error_of({{range("a", 0, 4)}, {range("a", 5, 10)}}), "tensor a: no rank has elements 4 to 5");
  EXPECT_EQ(error_of({{range("a", 1, 4)}, {range("a", 4, 10)}}), "tensor a: no rank has elements 0 to 1");
  EXPECT_EQ(error_of({{range("a", 0, 4)}, {range("a", 4, 9)}}), "tensor a: no rank has elements 9 to 10");
  EXPECT_EQ(error_of({{range("a", 0, 0)}, {range("a", 10, 10)}}), "tensor a: no rank has elements 0 to 10");
  EXPECT_EQ(error_of({{range("a", 0, 5)}, {range("a", 4, 10)}}), "tensor a: two ranks have elements 4 to 5");
  EXPECT_EQ(error_of({{range("a", 0, 5)}, {range("a", 0, 10)}}), "tensor a: two ranks have elements 0 to 5");
  EXPECT_EQ(error_of({{range("a", 0, 11)}}), "tensor a: a rank has elements up to 11 of [10]");
  // The first tensor fits.
  EXPECT_EQ(error_of({{range("a", 0, 10), range("b", 0, 4)}, {range("b", 5, 10)}}),
            "tensor b: no rank has elements 4 to 5");
}

TEST(SavePlan, TensorsThatDifferAreNamed) {
  EXPECT_EQ(error_of({{range("a", 0, 4)}, {range("a", 4, 10, {10}, DType::kBF16)}}),
            "tensor a is f32 [10] on one rank and bf16 [10] on another");
  EXPECT_EQ(error_of({{range("a", 0, 4)}, {range("a", 4, 10, {2, 5})}}),
            "tensor a is f32 [10] on one rank and f32 [2, 5] on another");
}

// A part of a [4, 6]: a range of one of the cells that cuts at rows 1 and column 4 make, unless it says otherwise.
IndexTensor in_box(const Shape& begin, const Shape& size, int64_t first, int64_t end, const Shape& view = {4, 6}) {
  IndexTensor tensor = range("a", first, end, {4, 6});
  tensor.parts[0].box = std::make_shared<const Box>(Box{.view = view, .begin = begin, .size = size});
  return tensor;
}
IndexTensor in_box(const Shape& begin, const Shape& size) { return in_box(begin, size, 0, numel(size)); }

TEST(SavePlan, BoxesOfAGridCoverATensor) {
  EXPECT_EQ(plan_of({{in_box({0, 0}, {4, 3})}, {in_box({0, 3}, {4, 3})}}), (Plan{"w", "w"}));
  EXPECT_EQ(plan_of({{in_box({1, 4}, {3, 2})},
                     {in_box({0, 0}, {1, 4})},
                     {in_box({0, 4}, {1, 2})},
                     {in_box({1, 0}, {3, 4})},
                     {in_box({0, 0}, {1, 4})}}),
            (Plan{"w", "w", "w", "w", "-"}));
  // Ranges of each box, on two replicas; a rank without elements.
  EXPECT_EQ(plan_of({{in_box({0, 0}, {4, 3}, 0, 5)},
                     {in_box({0, 0}, {4, 3}, 5, 12)},
                     {in_box({0, 3}, {4, 3}, 0, 12)},
                     {in_box({0, 0}, {4, 3}, 0, 5)},
                     {in_box({0, 3}, {4, 3}, 12, 12)}}),
            (Plan{"w", "w", "w", "-", "-"}));
  // Two matrices in one tensor, cut alike.
  EXPECT_EQ(
      plan_of({{in_box({0, 0, 0}, {2, 1, 6}, 0, 12, {2, 2, 6})}, {in_box({0, 1, 0}, {2, 1, 6}, 0, 12, {2, 2, 6})}}),
      (Plan{"w", "w"}));
}

TEST(SavePlan, BoxesThatDoNotCoverATensorAreNamed) {
  EXPECT_EQ(error_of({{in_box({0, 0}, {4, 3})}, {in_box({0, 3}, {4, 2})}}),
            "tensor a: the boxes that ranks have are no grid that covers [4, 6], such as elements 0 to 8 of [0:4, 3:5] "
            "in [4, 6]");
  EXPECT_EQ(error_of({{in_box({0, 0}, {4, 3})}, {in_box({0, 2}, {4, 4})}}).substr(0, 50),
            "tensor a: the boxes that ranks have are no grid th");
  EXPECT_NE(error_of({{in_box({0, 0}, {4, 3})}, {in_box({0, 3}, {2, 3})}}), "");
  EXPECT_NE(error_of({{in_box({0, 0}, {4, 3})}, {range("a", 0, 24, {4, 6})}}), "");
  EXPECT_NE(error_of({{in_box({0, 0}, {4, 3})}, {in_box({0, 1, 0}, {2, 1, 6}, 0, 12, {2, 2, 6})}}), "");
  EXPECT_EQ(error_of({{in_box({0, 0}, {4, 3}, 0, 5)}, {in_box({0, 0}, {4, 3}, 6, 12)}, {in_box({0, 3}, {4, 3})}}),
            "tensor a: no rank has elements 5 to 6 of [0:4, 0:3] in [4, 6]");
  EXPECT_EQ(error_of({{in_box({0, 0}, {5, 3})}}),
            "tensor a: a rank has elements 0 to 15 of [0:5, 0:3] in [4, 6], which is no box of [4, 6]");
}

// The texts that ranks exchange.
TEST(SavePlan, TheIndexOfARankSurvivesAsText) {
  Index index;
  index.step = 7;
  index.save_id = "an id";
  index.files.push_back({.name = file_name(2, 4), .size = 99, .header_checksum = 5});
  index.tensors = {range("a", 3, 8), range("b", 0, 0, {0, 2}, DType::kU8), in_box({1, 4}, {3, 2}, 2, 5)};
  index.tensors[2].name = "c";
  index.tensors[0].parts[0].checksum = 77;
  index.scalars = {{"count", int64_t{3}}};
  const std::string text = serialize(index);
  EXPECT_EQ(serialize(parse_rank_index(text)), text);
  for (size_t at = 0; at < text.size(); at += 7) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_THROW(parse_rank_index(damaged), Error) << at;
  }
  index.tensors[0].parts.push_back({.begin = 8, .end = 10});
  EXPECT_THROW(parse_rank_index(serialize(index)), Error);
}

}  // namespace
}  // namespace halftone::checkpoint
