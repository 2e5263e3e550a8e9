// Products of codes with scales of blocks on the CUDA device, against a reference in double.
#include <cmath>
#include <string>
#include <utility>

#include "cpu/gemm/code_matrix.h"
#include "cuda/gemm/fp8_plan.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"

namespace halftone {
namespace {

using cuda::fp8_plan;
using cuda::Fp8Way;

constexpr int64_t kWholeDepth = int64_t{1} << 40;
constexpr CodeLayout kLayouts[] = {
    {"row", DType::kF8E4M3, ScaleFormat::kF32, 1, kWholeDepth},
    {"block 1x128", DType::kF8E4M3, ScaleFormat::kF32Power, 1, 128},
    {"block 128x128", DType::kF8E5M2, ScaleFormat::kF32Power, 128, 128},
    {"block 2x5 of any f32", DType::kF8E4M3, ScaleFormat::kF32, 2, 5},
    {"MX, e4m3", DType::kF8E4M3, ScaleFormat::kE8M0, 1, 32},
    {"MX, e2m1", DType::kU8, ScaleFormat::kE8M0, 1, 32},
    {"NV 1x16", DType::kU8, ScaleFormat::kE4M3, 1, 16},
    {"NV 16x16", DType::kU8, ScaleFormat::kE4M3, 16, 16},
};

class CodeGemmOnCuda : public RoomTest {
 protected:
  using Floats = std::vector<float>;

  void TearDown() override {
    if (is_emulated()) set_capability(9);
  }
  static void set_capability(int32_t major) {
    emulation_function<void(int32_t, int32_t, int32_t)>("cuda_emulation_answer")(0, 13000, major);
  }
  // Products of cuBLASLt with scales of blocks so far.
  static int64_t block_products() { return emulation_function<int64_t()>("cuda_emulation_block_products")(); }

  Floats multiply(const CodeMatrix& a, const CodeMatrix& b, const GemmArgs& args, float before = 0) {
    return multiply_in(context(), a, b, args, before);
  }
  // The product of codes and a factor, with the ends that `args` names by memory of the caller. A factor of 1 is not
  // given to the kernel.
  static Floats multiply_in(Context& of, const CodeMatrix& a, const CodeMatrix& b, GemmArgs args, float before = 0,
                            float factor = 0.5) {
    DeviceCopies copies(*cuda_device(of).device);
    const int64_t m = a.rows().shape[0], n = b.rows().shape[0];
    Floats c(static_cast<size_t>(m * n), before);
    const auto lent = [&](const CodeMatrix& matrix, View view) {
      view.data = copies.lend(const_cast<uint8_t*>(matrix.code_bytes().data()), matrix.code_bytes().size());
      return view;
    };
    const auto lent_scales = [&](const CodeMatrix& matrix, BlockScales scales) {
      scales.data = copies.lend(static_cast<const uint8_t*>(scales.data), matrix.scale_bytes());
      return scales;
    };
    args.a = lent(a, a.rows());
    args.b = lent(b, b.columns());
    args.a_blocks = lent_scales(a, a.row_scales());
    args.b_blocks = lent_scales(b, b.column_scales());
    if (factor != 1) args.scales.a = copies.lend(&factor, 1);
    args.c = {copies.send(c.data(), c.size()), DType::kF32, {m, n}, {n, 1}};
    if (args.bias.data != nullptr) args.bias.data = copies.lend(static_cast<float*>(args.bias.data), n);
    if (args.residual.data != nullptr) args.residual.data = copies.lend(static_cast<float*>(args.residual.data), m * n);
    const GemmSchedule schedule = copies.kernels().gemm.schedule(copies.stream(), args);
    std::vector<std::byte> workspace(schedule.workspace);
    void* const there = copies.lend(workspace.data(), workspace.size());
    EXPECT_TRUE(copies.kernels().gemm.run(copies.stream(), args, schedule, there).ok());
    EXPECT_TRUE(copies.fetch().ok());
    return c;
  }

  // Modes of 128 are Hopper's, but for two operands in square blocks; the others are Blackwell's.
  static bool has_mode(int32_t major, const CodeLayout& a, const CodeLayout& b) {
    const auto is_of_128 = [](const CodeLayout& layout) { return layout.depth == 128; };
    if (is_of_128(a) && is_of_128(b)) return major == 9 && (a.lines == 1 || b.lines == 1);
    if (major < 10) return false;
    const auto is_mx = [](const CodeLayout& layout) { return layout.depth == 32 && layout.dtype != DType::kU8; };
    const auto is_nv = [](const CodeLayout& layout) { return layout.depth == 16; };
    return (is_mx(a) && is_mx(b)) || (is_nv(a) && is_nv(b));
  }

  // Sums of k products in FP32 have at most 2 k roundings; finish(sum, i) is the value of element i.
  template <class F>
  static void expect_products(const CodeMatrix& a, const CodeMatrix& b, const Floats& got, F&& finish,
                              double factor = 0.5) {
    const Floats left = a.values(), right = b.values();
    const auto k = static_cast<size_t>(a.rows().shape[1]), n = static_cast<size_t>(b.rows().shape[0]);
    for (size_t i = 0; i < got.size(); ++i) {
      double sum = 0, magnitude = 0;
      for (size_t p = 0; p < k; ++p) {
        const double product = static_cast<double>(left[i / n * k + p]) * static_cast<double>(right[i % n * k + p]);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double bound = 2 * static_cast<double>(k + 8) * 0x1p-24 * (magnitude + 16);
      ASSERT_NEAR(got[i], finish(factor * sum, i), bound) << i;
    }
  }
};

TEST_F(CodeGemmOnCuda, EveryLayoutGivesTheProductOfTheValues) {
  struct Sizes {
    int64_t m, n, k;
  };
  for (const CodeLayout& layout : kLayouts) {
    for (const auto& [m, n, k] : {Sizes{1, 1, 1}, {3, 5, 7}, {17, 33, 129}, {70, 20, 257}}) {
      for (const CodeOrder order_of_a : {CodeOrder::kDepth, CodeOrder::kLines}) {
        for (const CodeOrder order_of_b : {CodeOrder::kDepth, CodeOrder::kLines}) {
          SCOPED_TRACE(layout.name);
          const CodeMatrix a(layout, m, k, order_of_a, 1), b(layout, n, k, order_of_b, 2);
          expect_products(a, b, multiply(a, b, {}), [](double sum, size_t) { return sum; });
        }
      }
    }
  }
}

// 144 lines begin a second tile of 128, and the depth has 5 or 10 blocks in tiles of 4.
TEST_F(CodeGemmOnCuda, CublasLtMultipliesBlocksWhereTheGpuHasTheirMode) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime describes another machine";
  constexpr std::pair<size_t, size_t> pairs[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 4},
                                                 {5, 5}, {6, 6}, {6, 7}, {7, 6}, {4, 6}};
  for (const int32_t major : {8, 9, 10}) {
    set_capability(major);
    const Ref<Context> machine = make_ref<Context>(options());
    for (const auto& [of_a, of_b] : pairs) {
      SCOPED_TRACE(std::string(kLayouts[of_a].name) + " by " + kLayouts[of_b].name + " on " + std::to_string(major));
      const CodeMatrix a(kLayouts[of_a], 16, 160, CodeOrder::kDepth, 1);
      const CodeMatrix b(kLayouts[of_b], 144, 160, CodeOrder::kDepth, 2);
      const int64_t before = block_products();
      expect_products(a, b, multiply_in(*machine, a, b, {}), [](double sum, size_t) { return sum; });
      EXPECT_EQ(block_products() - before, has_mode(major, kLayouts[of_a], kLayouts[of_b]) ? 1 : 0);
    }
  }
}

TEST_F(CodeGemmOnCuda, CublasLtMultipliesScalesOfLinesWhereTheGpuHasTheirMode) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime describes another machine";
  const CodeMatrix a(kLayouts[0], 16, 160, CodeOrder::kDepth, 1), b(kLayouts[0], 144, 160, CodeOrder::kDepth, 2);
  for (const int32_t major : {8, 9, 10}) {
    set_capability(major);
    const Ref<Context> machine = make_ref<Context>(options());
    const int64_t before = block_products();
    expect_products(
        a, b, multiply_in(*machine, a, b, {}, 0, 1), [](double sum, size_t) { return sum; }, 1);
    EXPECT_EQ(block_products() - before, major >= 9 ? 1 : 0) << major;
    // A factor of the whole tensor is multiplied by the kernel that finishes sums.
    expect_products(a, b, multiply_in(*machine, a, b, {}), [](double sum, size_t) { return sum; });
    EXPECT_EQ(block_products() - before, major >= 9 ? 1 : 0) << major;
  }
}

TEST_F(CodeGemmOnCuda, BytesInAnotherOrderAreCopiedForCublasLt) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime counts its products";
  const CodeMatrix a(kLayouts[1], 48, 160, CodeOrder::kLines, 1), b(kLayouts[2], 64, 160, CodeOrder::kLines, 2);
  const int64_t before = block_products();
  expect_products(a, b, multiply(a, b, {}), [](double sum, size_t) { return sum; });
  EXPECT_EQ(block_products() - before, 1);
}

TEST_F(CodeGemmOnCuda, HasTheEndsOfOtherProducts) {
  Floats numbers(17 * 33);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13) - 6;
  for (const CodeLayout& layout : kLayouts) {
    SCOPED_TRACE(layout.name);
    const CodeMatrix a(layout, 17, 160, CodeOrder::kDepth, 1), b(layout, 33, 160, CodeOrder::kDepth, 2);
    GemmArgs end;
    end.bias = {numbers.data(), DType::kF32, {33}, {1}};
    end.residual = {numbers.data(), DType::kF32, {17, 33}, {33, 1}};
    end.activation = GemmActivation::kRelu;
    expect_products(a, b, multiply(a, b, end), [&](double sum, size_t i) {
      return std::fmax(0.0, sum + static_cast<double>(numbers[i % 33]) + static_cast<double>(numbers[i]));
    });
    GemmArgs added;
    added.store = Store::kAdd;
    expect_products(a, b, multiply(a, b, added, 3), [](double sum, size_t) { return sum + 3; });
  }
}

TEST_F(CodeGemmOnCuda, WithoutDepthTheProductIsZero) {
  for (const CodeLayout& layout : kLayouts) {
    const CodeMatrix a(layout, 17, 0, CodeOrder::kDepth, 1), b(layout, 33, 0, CodeOrder::kDepth, 2);
    EXPECT_EQ(multiply(a, b, {}, 9), Floats(17 * 33, 0)) << layout.name;
  }
}

// BF16 holds codes times powers of two, or times E4M3, but not times any f32.
TEST(CodeGemmPlan, CodesAreWidenedWhereBf16HoldsThem) {
  for (const CodeLayout& layout : kLayouts) {
    const CodeMatrix a(layout, 64, 256, CodeOrder::kDepth, 1), b(layout, 64, 256, CodeOrder::kDepth, 2);
    GemmArgs args = {.a = a.rows(), .b = b.columns(), .c = {nullptr, DType::kF32, {64, 64}, {64, 1}}};
    args.a_blocks = a.row_scales();
    args.b_blocks = b.column_scales();
    const bool holds = layout.format != ScaleFormat::kF32 || layout.depth == kWholeDepth;
    EXPECT_EQ(fp8_plan(args, Fp8Way::kWidened, 90).is_possible, holds) << layout.name;
    const bool multiplies_bytes = layout.depth == kWholeDepth;
    EXPECT_EQ(fp8_plan(args, Fp8Way::kBytes, 90).is_possible, multiplies_bytes) << layout.name;
  }
}

}  // namespace
}  // namespace halftone
