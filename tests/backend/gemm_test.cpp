#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/gemm_case.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr DType kSmallFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr Order kOrders[] = {Order::kRows, Order::kColumns, Order::kSlice, Order::kGaps};

// Around the tiles of every set (14 x 32, 6 x 16, 6 x 2), the blocks of k (768) and the chunks (168 rows).
constexpr GemmShape kShapes[] = {
    {1, 1, 1},     {2, 3, 5},      {13, 31, 7},   {14, 32, 16},  {15, 33, 17},  {6, 16, 8},     {7, 17, 9},
    {1, 100, 33},  {100, 1, 33},   {97, 10, 101}, {10, 97, 101}, {29, 48, 385}, {3, 5, 1153},   {17, 300, 40},
    {181, 67, 31}, {171, 131, 97}, {64, 64, 64},  {353, 35, 2},  {31, 1100, 3}, {85, 257, 389},
};

void check(const GemmShape& shape, const GemmDTypes& dtypes, Order a = Order::kRows, Order b = Order::kRows,
           Order c = Order::kRows, const GemmExtras& extras = {}) {
  GemmCase test(shape, dtypes, a, b, c, extras);
  test.run();
  test.expect_right();
}

TEST(Gemm, MultipliesEveryShape) {
  for_each_instruction_set([] {
    for (const GemmShape& shape : kShapes) check(shape, {});
  });
}

TEST(Gemm, MultipliesEveryShapeFromSixteenBits) {
  for_each_instruction_set([] {
    for (const GemmShape& shape : kShapes) {
      check(shape, {DType::kBF16, DType::kF16, DType::kBF16}, Order::kColumns, Order::kColumns);
      check(shape, {DType::kF16, DType::kBF16, DType::kF16});
    }
  });
}

TEST(Gemm, MixesDtypesFreely) {
  for_each_instruction_set([] {
    for (const DType a : kSmallFloats) {
      for (const DType b : kSmallFloats) {
        for (const DType c : kSmallFloats) check({31, 49, 70}, {a, b, c});
      }
    }
  });
}

TEST(Gemm, ReadsAndWritesAnyStrides) {
  for_each_instruction_set([] {
    for (const DType dtype : kSmallFloats) {
      for (const Order a : kOrders) {
        for (const Order b : kOrders) {
          for (const Order c : kOrders) check({31, 49, 45}, {dtype, dtype, dtype}, a, b, c);
          // Too large to be read where it lies.
          check({183, 205, 190}, {dtype, dtype, dtype}, a, b);
        }
      }
    }
  });
}

TEST(Gemm, TakesStridesOfZero) {
  for_each_instruction_set([] {
    HostTensor a(DType::kF32, {40, 200}, {0, 1});
    HostTensor b(DType::kBF16, {200, 70}, {1, 0});
    HostTensor c(DType::kF32, {40, 70});
    a.fill_uniform(-1, 1, 1);
    b.fill_uniform(-1, 1, 2);
    GemmCase reference({40, 70, 200}, {DType::kF32, DType::kBF16, DType::kF32});
    for (int64_t i = 0; i < reference.a().numel(); ++i) reference.a().set(i, a.get(i));
    for (int64_t i = 0; i < reference.b().numel(); ++i) reference.b().set(i, b.get(i));
    reference.replace_operands(a.view(), b.view());
    reference.run();
    reference.expect_right();
  });
}

TEST(Gemm, AppliesEachPartOfTheEpilogue) {
  const Activation activations[] = {Activation::kNone, Activation::kRelu, Activation::kGeluErf, Activation::kGeluTanh};
  for_each_instruction_set([&] {
    for (const Activation activation : activations) {
      for (const Store store : {Store::kWrite, Store::kAdd}) {
        for (const bool bias : {false, true}) {
          for (const bool residual : {false, true}) {
            for (const DType dtype : kSmallFloats) {
              for (const Order c : kOrders) {
                check({17, 37, 9}, {DType::kF32, DType::kF32, dtype}, Order::kRows, Order::kRows, c,
                      {bias, residual, activation, store, dtype});
              }
            }
          }
        }
      }
    }
  });
}

TEST(Gemm, FinishesEachTileOnceWhereKIsLargerThanABlock) {
  for_each_instruction_set([] {
    const GemmExtras extras = {true, true, Activation::kGeluTanh, Store::kAdd, DType::kBF16};
    for (const DType dtype : kSmallFloats) {
      check({33, 65, 800}, {dtype, DType::kF32, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
    }
    check({33, 65, 800}, {}, Order::kRows, Order::kRows, Order::kRows,
          {false, false, Activation::kNone, Store::kAdd, DType::kF32});
  });
}

TEST(Gemm, GivesTheEpilogueOfZeroWithoutProducts) {
  for_each_instruction_set([] {
    for (const DType dtype : kSmallFloats) {
      check({9, 35, 0}, {dtype, dtype, dtype});
      check({9, 35, 0}, {dtype, dtype, dtype}, Order::kRows, Order::kRows, Order::kRows,
            {true, true, Activation::kGeluErf, Store::kAdd, dtype});
    }
    check({9, 64, 0}, {DType::kF64, DType::kF64, DType::kF64});
  });
}

TEST(Gemm, TouchesNothingWhereCIsEmpty) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      check({0, 5, 3}, {dtype, dtype, dtype});
      check({5, 0, 3}, {dtype, dtype, dtype});
      check({0, 0, 0}, {dtype, dtype, dtype});
    }
  });
}

TEST(Gemm, MultipliesDoublesInDouble) {
  const GemmDTypes f64 = {DType::kF64, DType::kF64, DType::kF64};
  for (const GemmShape& shape : kShapes) check(shape, f64);
  for (const Order a : kOrders) {
    for (const Order b : kOrders) check({19, 67, 30}, f64, a, b, Order::kGaps);
  }
  for (const Activation activation : {Activation::kRelu, Activation::kGeluErf, Activation::kGeluTanh}) {
    check({19, 67, 30}, f64, Order::kRows, Order::kRows, Order::kRows,
          {true, true, activation, Store::kAdd, DType::kF64});
  }
}

TEST(Gemm, DoesNotDependOnTheNumberOfThreads) {
  const GemmShape shapes[] = {{128, 512, 784}, {300, 70, 900}, {20, 1500, 130}, {1000, 9, 200}};
  for_each_instruction_set([&] {
    for (const GemmShape& shape : shapes) {
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
        const GemmExtras extras = {true, false, Activation::kRelu, Store::kWrite, dtype};
        GemmCase alone(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
        GemmCase pair(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
        GemmCase crowd(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
        alone.run(1);
        pair.run(2);
        crowd.run(7);
        EXPECT_TRUE(alone.c().bytes() == pair.c().bytes());
        EXPECT_TRUE(alone.c().bytes() == crowd.c().bytes());
      }
    }
  });
}

// A row of a and a column of b decide what is poisoned; a zero does not hide it.
TEST(Gemm, PropagatesNanAndInfinityPastZeros) {
  for_each_instruction_set([] {
    for (const DType dtype : kSmallFloats) {
      GemmCase test({30, 50, 400}, {dtype, dtype, dtype});
      for (int64_t i = 0; i < test.a().numel(); ++i) test.a().set(i, 0);
      test.b().set(399 * 50 + 7, std::numeric_limits<double>::infinity());
      test.b().set(3 * 50 + 41, std::nan(""));
      test.run();
      for (int64_t i = 0; i < test.c().numel(); ++i) {
        const bool poisoned = i % 50 == 7 || i % 50 == 41;
        EXPECT_EQ(std::isnan(test.c().get(i)), poisoned) << i;
      }
    }
  });
}

TEST(Gemm, OverflowsToInfinityWhenItNarrows) {
  for_each_instruction_set([] {
    GemmCase test({16, 40, 2}, {DType::kF32, DType::kF32, DType::kF16});
    for (int64_t i = 0; i < test.a().numel(); ++i) test.a().set(i, 300);
    for (int64_t i = 0; i < test.b().numel(); ++i) test.b().set(i, -300);
    test.run();
    for (int64_t i = 0; i < test.c().numel(); ++i) {
      EXPECT_EQ(test.c().get(i), -std::numeric_limits<double>::infinity());
    }
  });
}

}  // namespace
}  // namespace halftone
