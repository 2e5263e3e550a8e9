// Products of codes, against products of the numbers that the codes stand for.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/kernels/gemm.h"
#include "core/number/bfloat16.h"
#include "cpu/device.h"
#include "cpu/gemm/code_matrix.h"
#include "cpu/gemm/ways.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

constexpr int64_t kWholeDepth = int64_t{1} << 40;
constexpr CodeLayout kLayouts[] = {
    {"tensor, e4m3", DType::kF8E4M3, ScaleFormat::kF32, 0, 0},
    {"tensor, e5m2", DType::kF8E5M2, ScaleFormat::kF32, 0, 0},
    {"row", DType::kF8E4M3, ScaleFormat::kF32Power, 1, kWholeDepth},
    {"block 1x128", DType::kF8E4M3, ScaleFormat::kF32Power, 1, 128},
    {"block 128x128", DType::kF8E5M2, ScaleFormat::kF32Power, 128, 128},
    {"block 2x5 of any f32", DType::kF8E4M3, ScaleFormat::kF32, 2, 5},
    {"MX, e4m3", DType::kF8E4M3, ScaleFormat::kE8M0, 1, 32},
    {"MX, e5m2", DType::kF8E5M2, ScaleFormat::kE8M0, 1, 32},
    {"MX, e2m1", DType::kU8, ScaleFormat::kE8M0, 1, 32},
    {"NV 1x16", DType::kU8, ScaleFormat::kE4M3, 1, 16},
    {"NV 16x16", DType::kU8, ScaleFormat::kE4M3, 16, 16},
};
constexpr CodeOrder kCodeOrders[] = {CodeOrder::kDepth, CodeOrder::kLines, CodeOrder::kGaps};

struct CodeSizes {
  int64_t m, n, k;
};

using Floats = std::vector<float>;

// c [m, n], which holds `before` at first.
Floats multiply(GemmArgs args, float before = 0, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  Floats c(static_cast<size_t>(args.a.shape[0] * args.b.shape[1]), before);
  args.c = {c.data(), DType::kF32, {args.a.shape[0], args.b.shape[1]}, {args.b.shape[1], 1}};
  const GemmSchedule schedule = cpu::kGemmKernels.schedule(stream, args);
  // All floats start as NaN, so a read before a write shows in the result.
  std::vector<std::byte> memory(schedule.workspace + 64, std::byte{0xff});
  void* data = memory.data();
  size_t space = memory.size();
  std::align(64, schedule.workspace, data, space);
  EXPECT_TRUE(cpu::kGemmKernels.run(stream, args, schedule, data).ok());
  return c;
}

GemmArgs args_of(const CodeMatrix& a, const CodeMatrix& b) {
  GemmArgs args = {.a = a.rows(), .b = b.columns(), .c = {}};
  args.a_blocks = a.row_scales();
  args.b_blocks = b.column_scales();
  return args;
}

// The operands of args_of, widened: to BF16 where products of codes are dot products of BF16, so that the microkernels
// are the same.
class Widened {
 public:
  Widened(const CodeMatrix& a, const CodeMatrix& b, bool are_codes_alone = false)
      : a_(a.values(!are_codes_alone)), b_(b.values(!are_codes_alone)) {
    const int64_t m = a.rows().shape[0];
    const int64_t n = b.rows().shape[0];
    const int64_t k = a.rows().shape[1];
    args_ = {.a = {a_.data(), DType::kF32, {m, k}, {k, 1}}, .b = {b_.data(), DType::kF32, {k, n}, {1, k}}, .c = {}};
    if (!cpu::multiplies_by_dot(args_of(a, b))) return;
    for (const float value : a_) short_a_.push_back(BFloat16::from(value));
    for (const float value : b_) short_b_.push_back(BFloat16::from(value));
    args_.a.dtype = args_.b.dtype = DType::kBF16;
    args_.a.data = short_a_.data();
    args_.b.data = short_b_.data();
  }
  const GemmArgs& args() const { return args_; }

 private:
  Floats a_, b_;
  std::vector<BFloat16> short_a_, short_b_;
  GemmArgs args_;
};

// Sizes around tiles (14 x 32, 6 x 16), blocks of scales, pieces that are widened at a time (128 or 256 of k), and
// blocks of k (768 words).
constexpr CodeSizes kCodeSizes[] = {{1, 1, 1},      {1, 70, 33},   {15, 33, 16},   {7, 17, 129},
                                    {29, 300, 257}, {171, 35, 97}, {33, 41, 1601}, {5, 3, 3}};

TEST(GemmOfCodes, EveryLayoutHasTheBitsOfTheWidenedMatrices) {
  for_each_way([] {
    for (const CodeLayout& layout : kLayouts) {
      SCOPED_TRACE(layout.name);
      for (const auto& [m, n, k] : kCodeSizes) {
        // Scales of the whole depth multiply sums, which rounds elsewhere unless they are powers of two.
        if (layout.format == ScaleFormat::kF32 && k <= layout.depth) continue;
        for (const CodeOrder order_of_a : kCodeOrders) {
          for (const CodeOrder order_of_b : kCodeOrders) {
            const CodeMatrix a(layout, m, k, order_of_a, 1);
            const CodeMatrix b(layout, n, k, order_of_b, 2);
            ASSERT_EQ(multiply(args_of(a, b)), multiply(Widened(a, b).args())) << m << " x " << n << " x " << k;
          }
        }
      }
    }
  });
}

TEST(GemmOfCodes, LayoutsMayDiffer) {
  for_each_way([] {
    for (const CodeLayout& layout_of_a : kLayouts) {
      for (const CodeLayout& layout_of_b : kLayouts) {
        const CodeMatrix a(layout_of_a, 17, 150, CodeOrder::kDepth, 1);
        const CodeMatrix b(layout_of_b, 37, 150, CodeOrder::kDepth, 2);
        ASSERT_EQ(multiply(args_of(a, b)), multiply(Widened(a, b).args())) << layout_of_a.name << layout_of_b.name;
      }
    }
  });
}

TEST(GemmOfCodes, DoesNotDependOnTheNumberOfThreads) {
  for_each_way([] {
    for (const CodeLayout& layout : kLayouts) {
      const CodeMatrix a(layout, 300, 900, CodeOrder::kDepth, 1);
      const CodeMatrix b(layout, 70, 900, CodeOrder::kLines, 2);
      const Floats alone = multiply(args_of(a, b));
      EXPECT_TRUE(alone == multiply(args_of(a, b), 0, 2) && alone == multiply(args_of(a, b), 0, 5)) << layout.name;
    }
  });
}

// Scales of rows multiply sums, so that they round once.
TEST(GemmOfCodes, AnyScalesOfRowsMultiplySums) {
  for_each_way([] {
    const CodeLayout layout = {"row", DType::kF8E4M3, ScaleFormat::kF32, 1, kWholeDepth};
    const CodeMatrix a(layout, 17, 150, CodeOrder::kDepth, 1);
    const CodeMatrix b(layout, 37, 150, CodeOrder::kDepth, 2);
    const float half = 0.5;
    GemmArgs args = args_of(a, b);
    args.scales = {.a = &half, .b = nullptr};
    Floats wanted = multiply(Widened(a, b, true).args());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto row = static_cast<int64_t>(i / 37);
      wanted[i] = wanted[i] * (half * scale_at(a.row_scales(), row, 0)) *
                  scale_at(b.row_scales(), static_cast<int64_t>(i % 37), 0);
    }
    EXPECT_EQ(multiply(args), wanted);
  });
}

TEST(GemmOfCodes, HasTheEndsOfOtherProducts) {
  for_each_way([] {
    const CodeMatrix a(kLayouts[9], 17, 800, CodeOrder::kDepth, 1);
    const CodeMatrix b(kLayouts[9], 37, 800, CodeOrder::kDepth, 2);
    Floats numbers(17 * 37);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13) - 6;
    const View matrix = {numbers.data(), DType::kF32, {17, 37}, {37, 1}};
    Floats sums(numbers.size()), wanted_sums(numbers.size());
    const auto with_end = [&](GemmArgs args, Floats& sum) {
      args.bias = {numbers.data(), DType::kF32, {37}, {1}};
      args.residual = matrix;
      args.activation = GemmActivation::kSilu;
      args.sum = matrix;
      args.sum.data = sum.data();
      return multiply(args);
    };
    EXPECT_EQ(with_end(args_of(a, b), sums), with_end(Widened(a, b).args(), wanted_sums));
    EXPECT_EQ(sums, wanted_sums);
    const auto added = [](GemmArgs args) {
      args.store = Store::kAdd;
      return multiply(args, 3);
    };
    EXPECT_EQ(added(args_of(a, b)), added(Widened(a, b).args()));
  });
}

TEST(GemmOfCodes, WithoutDepthTheProductIsZero) {
  for_each_way([] {
    for (const CodeLayout& layout : kLayouts) {
      const CodeMatrix a(layout, 17, 0, CodeOrder::kDepth, 1);
      const CodeMatrix b(layout, 37, 0, CodeOrder::kDepth, 2);
      EXPECT_EQ(multiply(args_of(a, b), 9), Floats(17 * 37, 0)) << layout.name;
    }
  });
}

// 2^-127 times 2^-9 and 2^127 times 448 are at the ends of FP32.
TEST(GemmOfCodes, ScalesOfMxAreExactAtTheEndsOfTheirRange) {
  cpu::set_dot_use_for_test(cpu::DotUse::kNever);
  for_each_instruction_set([] {
    const CodeLayout& layout = kLayouts[6];
    CodeMatrix a(layout, 3, 64, CodeOrder::kDepth, 1);
    for (const size_t i : {0, 1}) a.set_scale(i, 0);
    for (const size_t i : {2, 3}) a.set_scale(i, 254);
    a.set_scale(5, 255);
    const CodeMatrix b(kLayouts[0], 16, 64, CodeOrder::kDepth, 2);
    const Floats got = multiply(args_of(a, b));
    const Floats wanted = multiply(Widened(a, b).args());
    for (size_t i = 0; i < got.size(); ++i) {
      const bool is_alike = got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]));
      ASSERT_TRUE(is_alike) << i << ": " << got[i] << ", wanted " << wanted[i];
      EXPECT_EQ(got[i] == 0, false) << "the subnormal values of row 0 count";
      EXPECT_EQ(i < 32 || std::isnan(got[i]), true) << "a scale of NaN gives NaN";
    }
  });
  cpu::set_dot_use_for_test(cpu::DotUse::kWhereFaster);
}

}  // namespace
}  // namespace halftone
