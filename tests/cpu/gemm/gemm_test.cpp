#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "cpu/gemm/gemm_case.h"
#include "cpu/gemm/ways.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr DType kSmallFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr Order kOrders[] = {Order::kRows, Order::kColumns, Order::kSlice, Order::kGaps};

// Sizes around the tiles of every instruction set (14 x 32, 6 x 16, 6 x 2), the blocks of k (768) and the chunks (168
// rows).
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
  for_each_way([] {
    for (const GemmShape& shape : kShapes) check(shape, {});
  });
}

TEST(Gemm, MultipliesEveryShapeFromSixteenBits) {
  for_each_way([] {
    for (const GemmShape& shape : kShapes) {
      check(shape, {DType::kBF16, DType::kF16, DType::kBF16}, Order::kColumns, Order::kColumns);
      check(shape, {DType::kF16, DType::kBF16, DType::kF16});
    }
  });
}

// k = 1 is half a pair; 1537 ends with half a pair after the first block of 768 pairs.
TEST(Gemm, MultipliesPairsOfAnyDepthAndStrides) {
  const GemmShape shapes[] = {{17, 37, 1}, {17, 37, 2}, {33, 65, 3}, {29, 70, 517}, {31, 49, 1536}, {31, 49, 1537}};
  for_each_way([&] {
    for (const GemmShape& shape : kShapes) check(shape, {DType::kBF16, DType::kBF16, DType::kF32});
    for (const GemmShape& shape : shapes) {
      for (const Order a : kOrders) {
        for (const Order b : kOrders) {
          for (const DType c : kSmallFloats) check(shape, {DType::kBF16, DType::kBF16, c}, a, b);
        }
      }
    }
  });
}

TEST(Gemm, FinishesEachTileOfPairs) {
  for_each_way([] {
    for (const DType c : kSmallFloats) {
      for (const Order order : kOrders) {
        check({33, 65, 1601}, {DType::kBF16, DType::kBF16, c}, Order::kRows, Order::kColumns, order,
              {true, true, Store::kAdd, c});
      }
    }
    check({33, 65, 1601}, {DType::kBF16, DType::kBF16, DType::kF32}, Order::kRows, Order::kRows, Order::kRows,
          {false, false, Store::kAdd, DType::kF32});
  });
}

// Row 0 of a is subnormal. Row 1 is so small that 2^-30 makes its products subnormal. Row 2 has a normal and a
// subnormal element.
TEST(Gemm, TakesTinyPairsForZeroOnlyByDotProducts) {
  const auto run = [](cpu::DotUse use, double* results) {
    cpu::set_dot_use_for_test(use);
    GemmCase test({3, 1, 2}, {DType::kBF16, DType::kBF16, DType::kF32});
    const double a[] = {0x1p-127, 0x1p-133, 0x1p-100, 0x1p-101, 0x1p-60, 0x1p-127};
    const double b[] = {0x1p-30, 0x1p-30};
    const double large_b[] = {1, 1};
    const auto multiply = [&](const double* factors, double* out) {
      for (int64_t i = 0; i < 6; ++i) test.a().set(i, a[i]);
      for (int64_t i = 0; i < 2; ++i) test.b().set(i, factors[i]);
      test.run();
      for (int64_t i = 0; i < 3; ++i) out[i] = test.c().get(i);
    };
    multiply(large_b, results);
    multiply(b, results + 3);
    cpu::set_dot_use_for_test(cpu::DotUse::kWhereFaster);
  };
  double exact[6];
  run(cpu::DotUse::kNever, exact);
  EXPECT_EQ(exact[0], 0x1p-127 + 0x1p-133);
  EXPECT_EQ(exact[1], 0x1p-100 + 0x1p-101);
  EXPECT_EQ(exact[2], 0x1p-60);
  EXPECT_EQ(exact[4], 0x1p-130 + 0x1p-131);
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0 || !cpu::has_dot()) {
    GTEST_SKIP() << "this CPU has no dot products of BF16 pairs";
  }
  double dot[6];
  run(cpu::DotUse::kAlways, dot);
  EXPECT_EQ(dot[0], 0);
  EXPECT_EQ(dot[1], 0x1p-100 + 0x1p-101);
  EXPECT_EQ(dot[2], 0x1p-60);
  EXPECT_EQ(dot[3], 0);
  EXPECT_EQ(dot[4], 0);
  EXPECT_EQ(dot[5], 0x1p-90);
}

// The measured choice does not change, and other dtypes never use dot products.
TEST(Gemm, ChoosesDotProductsOnceAndForPairsAlone) {
  GemmCase pairs({3, 5, 7}, {DType::kBF16, DType::kBF16, DType::kF32});
  const bool chosen = cpu::multiplies_by_dot(pairs.args());
  EXPECT_TRUE(cpu::has_dot() || !chosen);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cpu::multiplies_by_dot(pairs.args()), chosen);
  cpu::set_dot_use_for_test(cpu::DotUse::kAlways);
  EXPECT_TRUE(cpu::multiplies_by_dot(pairs.args()));
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    GemmCase left({3, 5, 7}, {dtype, DType::kBF16, DType::kF32});
    GemmCase right({3, 5, 7}, {DType::kBF16, dtype, DType::kF32});
    EXPECT_FALSE(cpu::multiplies_by_dot(left.args()));
    EXPECT_FALSE(cpu::multiplies_by_dot(right.args()));
  }
  cpu::set_dot_use_for_test(cpu::DotUse::kNever);
  EXPECT_FALSE(cpu::multiplies_by_dot(pairs.args()));
  cpu::set_dot_use_for_test(cpu::DotUse::kWhereFaster);
}

TEST(Gemm, MixesDtypesFreely) {
  for_each_way([] {
    for (const DType a : kSmallFloats) {
      for (const DType b : kSmallFloats) {
        for (const DType c : kSmallFloats) check({31, 49, 70}, {a, b, c});
      }
    }
  });
}

TEST(Gemm, ReadsAndWritesAnyStrides) {
  for_each_way([] {
    for (const DType dtype : kSmallFloats) {
      for (const Order a : kOrders) {
        for (const Order b : kOrders) {
          for (const Order c : kOrders) check({31, 49, 45}, {dtype, dtype, dtype}, a, b, c);
          // Too large to be read in place, so the kernel packs it.
          check({183, 205, 190}, {dtype, dtype, dtype}, a, b);
        }
      }
    }
  });
}

TEST(Gemm, TakesStridesOfZero) {
  for_each_way([] {
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

// Pairs at addresses that are two bytes off a word boundary.
TEST(Gemm, ReadsPairsAtAnyAddress) {
  for_each_way([] {
    HostTensor a(DType::kBF16, {40, 202});
    a.fill_uniform(-1, 1, 1);
    View inner = a.view();
    inner.shape = {40, 200};
    inner.data = static_cast<std::byte*>(inner.data) + size_of(DType::kBF16);
    GemmCase test({40, 70, 200}, {DType::kBF16, DType::kBF16, DType::kF32}, Order::kRows, Order::kColumns);
    for (int64_t i = 0; i < test.a().numel(); ++i) test.a().set(i, a.get(i / 200 * 202 + i % 200 + 1));
    test.replace_operands(inner, test.b().view());
    test.run();
    test.expect_right();
  });
}

TEST(Gemm, AppliesEachPartOfTheEpilogue) {
  for_each_way([] {
    for (const Store store : {Store::kWrite, Store::kAdd}) {
      for (const bool bias : {false, true}) {
        for (const bool residual : {false, true}) {
          for (const DType dtype : kSmallFloats) {
            for (const Order c : kOrders) {
              check({17, 37, 9}, {DType::kF32, DType::kF32, dtype}, Order::kRows, Order::kRows, c,
                    {bias, residual, store, dtype});
            }
          }
        }
      }
    }
  });
}

constexpr GemmActivation kActivations[] = {GemmActivation::kRelu, GemmActivation::kGeluErf, GemmActivation::kGeluTanh,
                                           GemmActivation::kSilu};

TEST(Gemm, AppliesAnActivationToTheWholeSum) {
  for_each_way([] {
    for (const GemmActivation activation : kActivations) {
      for (const bool sum : {false, true}) {
        for (const DType dtype : kSmallFloats) {
          for (const Order c : kOrders) {
            check({17, 37, 9}, {dtype, DType::kF32, dtype}, Order::kRows, Order::kRows, c,
                  {true, sum, Store::kWrite, dtype, activation, sum});
          }
        }
        check({33, 65, 800}, {}, Order::kRows, Order::kColumns, Order::kRows,
              {false, false, Store::kWrite, DType::kF32, activation, sum});
        check({9, 35, 0}, {}, Order::kRows, Order::kRows, Order::kRows,
              {true, false, Store::kWrite, DType::kF32, activation, sum});
      }
    }
  });
}

TEST(Gemm, MultipliesTheWholeSumByTheSlopeOfAnActivation) {
  for_each_way([] {
    for (const GemmActivation activation : kActivations) {
      for (const DType dtype : kSmallFloats) {
        for (const Order c : kOrders) {
          check({17, 37, 9}, {dtype, DType::kF32, dtype}, Order::kRows, Order::kRows, c,
                {.bias = true, .residual = true, .dtype = dtype, .activation = activation, .argument = true});
        }
        check({33, 65, 800}, {dtype, dtype, DType::kF32}, Order::kRows, Order::kColumns, Order::kRows,
              {.dtype = dtype, .activation = activation, .argument = true});
        check({9, 35, 0}, {dtype, dtype, dtype}, Order::kRows, Order::kRows, Order::kRows,
              {.bias = true, .dtype = dtype, .activation = activation, .argument = true});
      }
    }
  });
}

// As the backward operations: a NaN in the argument of relu lets the sum pass.
TEST(Gemm, ANanInAnArgumentReachesItsElementAlone) {
  for_each_way([] {
    for (const GemmActivation activation : kActivations) {
      GemmCase test({17, 37, 9}, {}, Order::kRows, Order::kRows, Order::kRows,
                    {.activation = activation, .argument = true});
      test.argument().set(100, std::nan(""));
      test.run();
      for (int64_t i = 0; i < test.c().numel(); ++i) {
        EXPECT_EQ(std::isnan(test.c().get(i)), i == 100 && activation != GemmActivation::kRelu) << i;
      }
      EXPECT_EQ(test.c().get(100) == 0, false);
    }
  });
}

TEST(Gemm, AppliesAnActivationInDouble) {
  for (const GemmActivation activation : kActivations) {
    check({17, 70, 9}, {DType::kF64, DType::kF64, DType::kF64}, Order::kRows, Order::kColumns, Order::kGaps,
          {.bias = true, .residual = true, .dtype = DType::kF64, .activation = activation, .argument = true});
    check({17, 70, 9}, {DType::kF64, DType::kF64, DType::kF64}, Order::kRows, Order::kColumns, Order::kGaps,
          {true, true, Store::kWrite, DType::kF64, activation, true});
  }
}

TEST(Gemm, AddsUpTheRowsOfA) {
  const GemmShape shapes[] = {{1, 1, 1}, {13, 31, 7}, {17, 9, 33}, {171, 40, 97}, {353, 35, 2}, {19, 34, 3201}};
  for_each_way([&] {
    for (const DType dtype : kSmallFloats) {
      for (const Order a : kOrders) {
        for (const GemmShape& shape : shapes) {
          check(shape, {dtype, DType::kBF16, dtype}, a, a, a, {.sums_of_a = true, .sums_dtype = dtype});
        }
        check({29, 70, 517}, {dtype, dtype, DType::kF32}, a, Order::kColumns, Order::kGaps,
              {.bias = true, .sums_of_a = true, .sums_store = Store::kAdd, .sums_dtype = dtype});
      }
    }
  });
}

// The order of a weight's gradient.
TEST(Gemm, TheSumsOfAdjacentRowsDoNotDependOnTheNumberOfThreads) {
  for_each_way([] {
    for (const DType dtype : kSmallFloats) {
      const auto sums_on = [&](int threads) {
        GemmCase test({60, 40, 900}, {dtype, dtype, dtype}, Order::kColumns, Order::kRows, Order::kRows,
                      {.sums_of_a = true});
        test.run(threads);
        return test.sums_of_a().bytes();
      };
      const auto alone = sums_on(1);
      EXPECT_TRUE(alone == sums_on(2) && alone == sums_on(5));
    }
  });
}

TEST(Gemm, AddsUpTheRowsOfADoubleInDouble) {
  for (const Store store : {Store::kWrite, Store::kAdd}) {
    for (const Order a : kOrders) {
      check({37, 70, 90}, {DType::kF64, DType::kF64, DType::kF64}, a, Order::kRows, Order::kGaps,
            {.dtype = DType::kF64, .sums_of_a = true, .sums_store = store, .sums_dtype = DType::kF64});
    }
  }
}

TEST(Gemm, TheSumsOfRowsWithoutDepthAreZero) {
  for_each_way([] {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      for (const Store store : {Store::kWrite, Store::kAdd}) {
        check({29, 35, 0}, {dtype, dtype, dtype}, Order::kRows, Order::kRows, Order::kRows,
              {.dtype = dtype, .sums_of_a = true, .sums_store = store, .sums_dtype = dtype});
      }
    }
  });
}

TEST(Gemm, FinishesEachTileOnceWhereKIsLargerThanABlock) {
  for_each_way([] {
    const GemmExtras extras = {true, true, Store::kAdd, DType::kBF16};
    for (const DType dtype : kSmallFloats) {
      check({33, 65, 800}, {dtype, DType::kF32, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
    }
    check({33, 65, 800}, {}, Order::kRows, Order::kRows, Order::kRows, {false, false, Store::kAdd, DType::kF32});
  });
}

TEST(Gemm, GivesTheEpilogueOfZeroWithoutProducts) {
  for_each_way([] {
    for (const DType dtype : kSmallFloats) {
      check({9, 35, 0}, {dtype, dtype, dtype});
      check({9, 35, 0}, {dtype, dtype, dtype}, Order::kRows, Order::kRows, Order::kRows,
            {true, true, Store::kAdd, dtype});
    }
    check({9, 64, 0}, {DType::kF64, DType::kF64, DType::kF64});
  });
}

TEST(Gemm, TakesOperandsWithoutDepthAndMemory) {
  for_each_way([] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
      for (const Order a : kOrders) {
        for (const Order b : kOrders) {
          GemmCase test({29, 35, 0}, {dtype, dtype, dtype}, a, b);
          View no_a = test.args().a;
          View no_b = test.args().b;
          no_a.data = no_b.data = nullptr;
          test.replace_operands(no_a, no_b);
          test.run();
          test.expect_right();
        }
      }
    }
  });
}

TEST(Gemm, TouchesNothingWhereCIsEmpty) {
  for_each_way([] {
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
  check({19, 67, 30}, f64, Order::kRows, Order::kRows, Order::kRows, {true, true, Store::kAdd, DType::kF64});
}

TEST(Gemm, DoesNotDependOnTheNumberOfThreads) {
  const GemmShape shapes[] = {{128, 512, 784}, {300, 70, 900}, {20, 1500, 130}, {1000, 9, 200}};
  for_each_way([&] {
    for (const GemmShape& shape : shapes) {
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
        const GemmExtras extras = {.bias = true, .dtype = dtype, .sums_of_a = true, .sums_dtype = dtype};
        GemmCase alone(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
        GemmCase pair(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
        GemmCase crowd(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows, extras);
        alone.run(1);
        pair.run(2);
        crowd.run(7);
        EXPECT_TRUE(alone.c().bytes() == pair.c().bytes());
        EXPECT_TRUE(alone.c().bytes() == crowd.c().bytes());
        EXPECT_TRUE(alone.sums_of_a().bytes() == pair.sums_of_a().bytes());
        EXPECT_TRUE(alone.sums_of_a().bytes() == crowd.sums_of_a().bytes());
      }
    }
  });
}

// A NaN or an infinity in b must make its whole column of c NaN, although a is all zeros.
TEST(Gemm, PropagatesNanAndInfinityPastZeros) {
  for_each_way([] {
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
  for_each_way([] {
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
