// Matrix products on the CUDA device: by cuBLASLt and by the kernel of our own, against a reference in double.
#include <thread>

#include "cpu/gemm/gemm_case.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr DType kSmallFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr Order kOrders[] = {Order::kRows, Order::kColumns, Order::kSlice, Order::kGaps};
constexpr GemmActivation kActivations[] = {GemmActivation::kRelu, GemmActivation::kGeluErf, GemmActivation::kGeluTanh,
                                           GemmActivation::kSilu};

class GemmOnCuda : public RoomTest {
 protected:
  Device& cuda() { return *cuda_device(context()).device; }

  static GemmArgs args_there(DeviceCopies& copies, GemmCase& test) {
    GemmArgs args = test.args();
    for (HostTensor* tensor : {&test.a(), &test.b(), &test.c(), &test.bias(), &test.residual(), &test.sum(),
                               &test.argument(), &test.sums_of_a()}) {
      copies.send(*tensor);
    }
    for (View* view :
         {&args.a, &args.b, &args.c, &args.bias, &args.residual, &args.sum, &args.argument, &args.sums_of_a}) {
      view->data = copies.at(static_cast<std::byte*>(view->data));
    }
    return args;
  }

  // Runs the case in a workspace of exactly the size that was asked for.
  void run(GemmCase& test) {
    DeviceCopies copies(cuda());
    const GemmArgs args = args_there(copies, test);
    const GemmSchedule schedule = copies.kernels().gemm.schedule(copies.stream(), args);
    std::vector<std::byte> workspace(schedule.workspace);
    void* const there = copies.lend(workspace.data(), workspace.size());
    const int64_t waits = cuda_waits();
    ASSERT_TRUE(copies.kernels().gemm.run(copies.stream(), args, schedule, there).ok());
    EXPECT_EQ(cuda_waits(), waits);
    ASSERT_TRUE(copies.fetch().ok());
  }

  void check(const GemmShape& shape, const GemmDTypes& dtypes, Order a = Order::kRows, Order b = Order::kRows,
             Order c = Order::kRows, const GemmExtras& extras = {}) {
    GemmCase test(shape, dtypes, a, b, c, extras);
    run(test);
    test.expect_right();
  }

  // Runs a case of 16-bit numbers. Returns how many kernels and calls of libraries it takes; 0 on a GPU, which
  // counts none.
  int64_t work_of(const GemmShape& shape, const GemmExtras& extras) {
    GemmCase test(shape, {DType::kBF16, DType::kBF16, DType::kBF16}, Order::kRows, Order::kRows, Order::kRows, extras);
    DeviceCopies copies(cuda());
    const GemmArgs args = args_there(copies, test);
    const GemmSchedule schedule = copies.kernels().gemm.schedule(copies.stream(), args);
    std::vector<std::byte> workspace(schedule.workspace);
    void* const there = copies.lend(workspace.data(), workspace.size());
    const auto queued = [] {
      return is_emulated() ? emulation_function<int64_t()>("cuda_emulation_queued")() : int64_t{0};
    };
    const int64_t before = queued();
    EXPECT_TRUE(copies.kernels().gemm.run(copies.stream(), args, schedule, there).ok());
    const int64_t work = queued() - before;
    EXPECT_TRUE(copies.fetch().ok());
    test.expect_right();
    return work;
  }

  // Products of cuBLASLt so far.
  static int64_t products() { return emulation_function<int64_t()>("cuda_emulation_products")(); }
  static int64_t searches() { return emulation_function<int64_t()>("cuda_emulation_searches")(); }
};

TEST_F(GemmOnCuda, MultipliesEveryShape) {
  for (const GemmShape& shape : {GemmShape{1, 1, 1},
                                 {2, 3, 5},
                                 {64, 64, 16},
                                 {65, 63, 17},
                                 {1, 100, 33},
                                 {100, 1, 33},
                                 {1, 70, 300},
                                 {97, 10, 101},
                                 {3, 5, 300},
                                 {130, 67, 31},
                                 {40, 33, 129}}) {
    check(shape, {});
    check(shape, {DType::kF64, DType::kF64, DType::kF64});
    check(shape, {DType::kBF16, DType::kBF16, DType::kBF16}, Order::kColumns, Order::kColumns);
    check(shape, {DType::kF16, DType::kF16, DType::kF32}, Order::kRows, Order::kColumns);
  }
}

TEST_F(GemmOnCuda, AnEmptyDepthGivesTheEnd) {
  const GemmExtras extras = {.bias = true, .residual = true, .activation = GemmActivation::kSilu, .sum = true};
  check({9, 11, 0}, {}, Order::kRows, Order::kRows, Order::kRows, extras);
  check({9, 11, 0}, {DType::kF16, DType::kF16, DType::kF16}, Order::kRows, Order::kRows, Order::kRows,
        {.store = Store::kAdd});
}

TEST_F(GemmOnCuda, MultipliesEveryMixtureAndOrder) {
  for (const DType a : kSmallFloats) {
    for (const DType b : kSmallFloats) {
      for (const DType c : kSmallFloats) {
        const int turn = static_cast<int>(a) + 2 * static_cast<int>(b) + 3 * static_cast<int>(c);
        for (int i = 0; i < 4; ++i) {
          check({33, 18, 19}, {a, b, c}, kOrders[(turn + i) % 4], kOrders[(turn / 2 + 3 * i) % 4], kOrders[i]);
        }
      }
    }
  }
}

TEST_F(GemmOnCuda, FinishesTheSumsInEveryWay) {
  for (const DType c : kSmallFloats) {
    for (const DType dtype : kSmallFloats) {
      for (const Order order : kOrders) {
        const GemmShape shape = {35, 33, 9};
        const GemmDTypes dtypes = {DType::kBF16, DType::kBF16, c};
        check(shape, dtypes, Order::kRows, Order::kRows, order, {.bias = true, .dtype = dtype});
        check(shape, dtypes, Order::kRows, Order::kRows, order, {.residual = true, .dtype = dtype});
        check(shape, dtypes, Order::kRows, Order::kRows, order, {.bias = true, .residual = true, .dtype = dtype});
        check(shape, dtypes, Order::kRows, Order::kRows, order, {.bias = true, .store = Store::kAdd, .dtype = dtype});
        check(shape, dtypes, Order::kRows, Order::kRows, order,
              {.residual = true, .store = Store::kAdd, .dtype = dtype});
      }
    }
  }
}

TEST_F(GemmOnCuda, ActivatesTheSumsAndKeepsThem) {
  for (const GemmActivation activation : kActivations) {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      for (const GemmShape& shape : {GemmShape{35, 33, 9}, {3, 5, 7}}) {
        for (const bool keeps : {false, true}) {
          check(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows,
                {.bias = true, .residual = keeps, .dtype = dtype, .activation = activation, .sum = keeps});
        }
      }
    }
  }
}

TEST_F(GemmOnCuda, MultipliesTheSumsByTheSlopeOfAnActivation) {
  for (const GemmActivation activation : kActivations) {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      for (const GemmShape& shape : {GemmShape{35, 33, 9}, {3, 5, 7}, {9, 11, 0}}) {
        check(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kRows,
              {.bias = true, .residual = true, .dtype = dtype, .activation = activation, .argument = true});
        check(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, Order::kColumns,
              {.dtype = dtype, .activation = activation, .argument = true});
      }
    }
  }
}

TEST_F(GemmOnCuda, AddsUpTheRowsOfA) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Order a : kOrders) {
      for (const GemmShape& shape : {GemmShape{35, 33, 9}, {3, 5, 7}, {9, 11, 0}, {20, 40, 65}}) {
        for (const Store store : {Store::kWrite, Store::kAdd}) {
          GemmExtras extras = {.dtype = dtype, .sums_of_a = true, .sums_store = store, .sums_dtype = dtype};
          check(shape, {dtype, dtype, dtype}, a, Order::kRows, Order::kRows, extras);
          check(shape, {dtype, dtype, dtype}, a, Order::kColumns, Order::kGaps, extras);
          extras.bias = true;
          check(shape, {dtype, dtype, dtype}, a, Order::kRows, Order::kColumns, extras);
          if (dtype == DType::kF64) continue;
          extras.sums_dtype = DType::kF32;
          check(shape, {dtype, dtype, dtype}, a, Order::kRows, Order::kRows, extras);
        }
      }
    }
  }
}

TEST_F(GemmOnCuda, UsesCublasLtAndRemembersItsAlgorithms) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated cuBLASLt counts its calls";
  const int64_t products_before = products();
  const int64_t searches_before = searches();
  for (int i = 0; i < 3; ++i) check({40, 24, 16}, {});
  EXPECT_EQ(products(), products_before + 3);
  EXPECT_EQ(searches(), searches_before + 1);
  check({40, 24, 17}, {});
  EXPECT_EQ(searches(), searches_before + 2);
}

TEST_F(GemmOnCuda, AddsAResidualWithinTheProduct) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated device counts its work";
  EXPECT_EQ(work_of({40, 24, 16}, {.bias = true, .residual = true, .dtype = DType::kBF16}), 1);
}

TEST_F(GemmOnCuda, AddsUpTheRowsOfAWithinTheProduct) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated device counts its work";
  EXPECT_EQ(work_of({40, 24, 16}, {.sums_of_a = true, .sums_dtype = DType::kBF16}), 1);
  EXPECT_EQ(work_of({40, 24, 16}, {.store = Store::kAdd, .sums_of_a = true, .sums_dtype = DType::kBF16}), 1);
  EXPECT_EQ(work_of({40, 24, 16}, {.sums_of_a = true, .sums_dtype = DType::kF32}), 2);
}

TEST_F(GemmOnCuda, FusesGeluWhereTheOptionIsOn) {
  const double error = is_emulated() ? 0 : 0x1p-9;
  const GemmExtras forward = {.bias = true,
                              .dtype = DType::kBF16,
                              .activation = GemmActivation::kGeluTanh,
                              .sum = true,
                              .activation_error = error};
  const GemmExtras backward = {
      .dtype = DType::kBF16, .activation = GemmActivation::kGeluTanh, .argument = true, .activation_error = error};
  for (const bool is_on : {false, true}) {
    ASSERT_TRUE(cuda().set_option(DeviceOption::kFusedGelu, is_on ? 1 : 0).ok());
    const int64_t forward_work = work_of({40, 24, 16}, forward);
    const int64_t backward_work = work_of({40, 24, 16}, backward);
    if (!is_emulated()) continue;
    EXPECT_EQ(forward_work, is_on ? 1 : 2);
    EXPECT_EQ(backward_work, is_on ? 1 : 2);
  }
}

// Sizes, dtypes and ends of which cuBLASLt takes some. NVIDIA does not state the precision of its GELU; fast functions
// of GPUs have 10 bits.
TEST_F(GemmOnCuda, ActivatesWithAndWithoutFusedGelu) {
  ASSERT_TRUE(cuda().set_option(DeviceOption::kFusedGelu, 1).ok());
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const GemmShape& shape : {GemmShape{35, 33, 9}, {48, 40, 17}, {3, 5, 7}, {9, 16, 0}}) {
      for (const Order c : kOrders) {
        GemmExtras extras = {.dtype = dtype, .activation = GemmActivation::kGeluTanh};
        if (!is_emulated() && size_of(dtype) == 2) extras.activation_error = 0x1p-9;
        for (int i = 0; i < 8; ++i) {
          extras.bias = (i & 1) != 0;
          extras.residual = (i & 2) != 0;
          extras.sum = (i & 4) != 0;
          extras.argument = false;
          check(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, c, extras);
          extras.argument = true;
          extras.sum = false;
          check(shape, {dtype, dtype, dtype}, Order::kRows, Order::kColumns, c, extras);
        }
      }
    }
  }
}

// The kernels of our own take over, and the search is not repeated.
TEST_F(GemmOnCuda, DoesWithoutAlgorithmsForRareEnds) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated cuBLASLt can lack algorithms";
  const auto set_rare_ends = emulation_function<void(int32_t)>("cuda_emulation_set_rare_ends");
  ASSERT_TRUE(cuda().set_option(DeviceOption::kFusedGelu, 1).ok());
  set_rare_ends(0);
  const GemmExtras sums = {.sums_of_a = true, .sums_dtype = DType::kBF16};
  const GemmExtras forward = {.activation = GemmActivation::kGeluTanh, .sum = true};
  const GemmExtras backward = {.dtype = DType::kBF16, .activation = GemmActivation::kGeluTanh, .argument = true};
  EXPECT_EQ(work_of({56, 24, 16}, sums), 2);
  EXPECT_EQ(work_of({56, 24, 16}, forward), 2);
  EXPECT_EQ(work_of({56, 24, 16}, backward), 2);
  const int64_t before = searches();
  EXPECT_EQ(work_of({56, 24, 16}, sums), 2);
  EXPECT_EQ(searches(), before);
  set_rare_ends(1);
}

// A sum whose two halves are rounded to the result's type would be 8 units off here.
TEST_F(GemmOnCuda, AddsPartsOfASumInFp32) {
  GemmCase test({16, 16, 64}, {DType::kBF16, DType::kBF16, DType::kBF16});
  for (int64_t i = 0; i < test.a().numel(); ++i) test.a().set(i, i % 64 < 32 ? 16 + i % 3 : -16 - i % 5);
  for (int64_t i = 0; i < test.b().numel(); ++i) test.b().set(i, 1);
  run(test);
  test.expect_right();
}

TEST_F(GemmOnCuda, RefusesAMixtureWithF64) {
  GemmCase test({9, 9, 9}, {DType::kF64, DType::kF64, DType::kF32});
  DeviceCopies copies(cuda());
  const GemmArgs args = args_there(copies, test);
  const GemmSchedule schedule = copies.kernels().gemm.schedule(copies.stream(), args);
  std::vector<std::byte> workspace(schedule.workspace);
  void* const there = copies.lend(workspace.data(), workspace.size());
  EXPECT_EQ(copies.kernels().gemm.run(copies.stream(), args, schedule, there).code, Code::kUnsupported);
  ASSERT_TRUE(copies.fetch().ok());
}

// Two threads with streams of their own ask for many problems at once.
TEST_F(GemmOnCuda, SchedulesFromSeveralThreads) {
  GemmCase test({40, 24, 16}, {});
  DeviceCopies copies(cuda());
  const GemmArgs args = args_there(copies, test);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        GemmArgs other = args;
        other.a.strides[0] += (i + t) % 50;
        EXPECT_GT(copies.kernels().gemm.schedule(copies.stream(), other).workspace, 0u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace halftone
