// Products that round to TF32: bitwise those of operands that were rounded before.
#include "core/number/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cpu/gemm/gemm_case.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

void round_elements(HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, round_to_tf32(static_cast<float>(tensor.get(i))));
}

// Every fifth element lies between two numbers of TF32, above an even and an odd one in turn.
void set_ties(HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.numel(); i += 5) tensor.set(i, 1 + static_cast<double>(i % 4 + 1) * 0x1p-11);
}

void expect_product_of_rounded(const GemmShape& shape, const GemmDTypes& dtypes, Order a, Order b) {
  GemmCase test(shape, dtypes, a, b);
  test.round_to_tf32();
  GemmCase wanted(shape, dtypes, a, b);
  for (GemmCase* of : {&test, &wanted}) {
    set_ties(of->a());
    set_ties(of->b());
  }
  test.run();
  round_elements(wanted.a());
  round_elements(wanted.b());
  wanted.run();
  ASSERT_EQ(test.c().bytes(), wanted.c().bytes()) << shape.m << " " << shape.n << " " << shape.k;
}

// Products that FP32 reads in place, small and large ones, and those that it packs in each way: rows, columns that lie
// side by side, columns that are transposed, and gaps.
TEST(Tf32Gemm, IsTheProductOfRoundedOperands) {
  const GemmShape shapes[] = {{1, 1, 1}, {3, 5, 7}, {15, 33, 17}, {97, 10, 101}, {181, 35, 2}, {15, 70, 800}};
  for_each_instruction_set([&] {
    for (const GemmShape& shape : shapes) {
      for (const Order order : {Order::kRows, Order::kColumns, Order::kSlice, Order::kGaps}) {
        expect_product_of_rounded(shape, {}, order, Order::kRows);
        expect_product_of_rounded(shape, {}, Order::kRows, order);
      }
    }
  });
}

TEST(Tf32Gemm, RoundsTheSameOnAnyNumberOfThreads) {
  GemmCase one({181, 300, 389}, {});
  GemmCase three({181, 300, 389}, {});
  one.round_to_tf32();
  three.round_to_tf32();
  one.run();
  three.run(3);
  EXPECT_EQ(one.c().bytes(), three.c().bytes());
}

// They are products of another kind: an operand of FP32 beside one of 16 bits is not rounded.
TEST(Tf32Gemm, LeavesProductsWithAnOperandOfSixteenBits) {
  const GemmDTypes mixed[] = {{DType::kF32, DType::kBF16}, {DType::kF16, DType::kF32}};
  for (const GemmDTypes& dtypes : mixed) {
    GemmCase test({29, 48, 385}, dtypes);
    test.round_to_tf32();
    test.run();
    GemmCase plain({29, 48, 385}, dtypes);
    plain.run();
    EXPECT_EQ(test.c().bytes(), plain.c().bytes());
  }
}

// An element that is not finite stays so, and a NaN whose upper bits are 0 does not become an infinity.
TEST(Tf32Gemm, KeepsNan) {
  GemmCase test({2, 2, 1}, {});
  test.round_to_tf32();
  const uint32_t nan = 0x7f800001;
  std::memcpy(test.a().data(), &nan, sizeof nan);
  test.b().set(0, 1);
  test.run();
  EXPECT_TRUE(std::isnan(test.c().get(0)));
  EXPECT_FALSE(std::isnan(test.c().get(2)));
}

}  // namespace
}  // namespace halftone
