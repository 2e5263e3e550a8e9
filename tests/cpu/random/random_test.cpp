#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/formula/box_muller.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr PhiloxKey kKey = {0x123456789abcdef0, 42};
constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

void draw_uniform(const HostTensor& out, double low, double high, int threads = 1, PhiloxKey key = kKey) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kRandomKernels.uniform(stream, key, low, high, out.view()).ok());
}

void draw_normal(const HostTensor& out, double mean, double std, int threads = 1, PhiloxKey key = kKey) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kRandomKernels.normal(stream, key, mean, std, out.view()).ok());
}

uint32_t word(int64_t i) { return philox(kKey, static_cast<uint64_t>(i / 4))[static_cast<size_t>(i % 4)]; }

double uniform_of(int64_t i) { return static_cast<double>(word(i) >> 8) * 0x1p-24; }

// The formula of Box and Muller in double, on the same pair of words.
double normal_of(int64_t i) {
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(word(i & ~int64_t{1}) >> 8) + 1) * 0x1p-24));
  const double angle = 6.283185307179586 * static_cast<double>(word(i | 1) >> 8) * 0x1p-24;
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

const Shape kShapes[] = {{}, {0}, {1}, {3}, {7, 5}, {515}, {4, 129}, {40000}};

TEST(Uniform, TakesWordsOfPhiloxInRowMajorOrder) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      for (const Shape& shape : kShapes) {
        HostTensor out(dtype, shape);
        draw_uniform(out, -2, 3);
        for (int64_t i = 0; i < out.numel(); ++i) {
          ASSERT_NEAR(out.get(i), -2 + 5 * uniform_of(i), tolerance(dtype).relative * 3 + 5e-7) << i;
        }
        EXPECT_TRUE(out.guards_hold());
      }
    }
  });
}

TEST(Uniform, IsExactOnTheUnitInterval) {
  HostTensor out(DType::kF32, {1000});
  draw_uniform(out, 0, 1);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(out.get(i), uniform_of(i));
}

TEST(Normal, FollowsBoxAndMuller) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      for (const Shape& shape : kShapes) {
        HostTensor out(dtype, shape);
        draw_normal(out, 0.5, 2);
        for (int64_t i = 0; i < out.numel(); ++i) {
          ASSERT_NEAR(out.get(i), 0.5 + 2 * normal_of(i), tolerance(dtype).relative * 12 + 4e-6)
              << name_of(dtype) << " " << i;
        }
        EXPECT_TRUE(out.guards_hold());
      }
    }
  });
}

// With a million draws the standard error of each moment is about 1e-3, and 2.5e-3 for the kurtosis; bounds are five of
// them.
TEST(Normal, HasTheMomentsOfANormal) {
  constexpr int64_t kCount = 1 << 20;
  HostTensor out(DType::kF32, {kCount});
  draw_normal(out, 0, 1, 2);
  double sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0, neighbours = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double x = out.get(i);
    sum1 += x;
    sum2 += x * x;
    sum3 += x * x * x;
    sum4 += x * x * x * x;
    if (i % 2 == 0) neighbours += x * out.get(i + 1);
  }
  EXPECT_NEAR(sum1 / kCount, 0, 5e-3);
  EXPECT_NEAR(sum2 / kCount, 1, 7e-3);
  EXPECT_NEAR(sum3 / kCount, 0, 2e-2);
  EXPECT_NEAR(sum4 / kCount, 3, 5e-2);
  EXPECT_NEAR(neighbours / (kCount / 2), 0, 7e-3);
}

TEST(Normal, IsFiniteAtTheEndsOfTheWords) {
  for (const uint32_t radius : {0u, 0xffu, 0x100u, 0xffffffffu}) {
    for (const uint32_t angle : {0u, 0x3fffffffu, 0x40000000u, 0x80000000u, 0xc0000000u, 0xffffffffu}) {
      const NormalPair pair = box_muller(radius, angle);
      EXPECT_LE(std::fabs(pair.first), 5.7683f);
      EXPECT_LE(std::fabs(pair.second), 5.7683f);
    }
  }
}

// Every fifth possible uniform: the logarithm is within 2 ulp, sine and cosine within an ulp of 1.
TEST(Normal, HasPreciseLogarithmAndAngles) {
  double worst_log = 0, worst_angle = 0;
  for (uint32_t word = 0; word < (1u << 24); word += 5) {
    const float uniform = static_cast<float>(word + 1) * 0x1p-24f;
    const double log = std::log(static_cast<double>(uniform));
    const double ulp = std::ldexp(1.0, std::ilogb(log == 0 ? 1 : log) - 23);
    worst_log = std::max(worst_log, std::fabs(static_cast<double>(log_of_uniform(uniform)) - log) / ulp);
    const double angle = 6.283185307179586 * word * 0x1p-24;
    const SinCos computed = sin_cos_of_turn(word);
    worst_angle = std::max({worst_angle, std::fabs(static_cast<double>(computed.sin) - std::sin(angle)),
                            std::fabs(static_cast<double>(computed.cos) - std::cos(angle))});
  }
  EXPECT_LE(worst_log, 2.0);
  EXPECT_LE(worst_angle, 0x1p-23);
}

TEST(Random, IsTheSameInAnyLayout) {
  HostTensor dense(DType::kF32, {40, 50});
  HostTensor transposed(DType::kF32, {40, 50}, {1, 41});
  draw_normal(dense, 0, 1);
  draw_normal(transposed, 0, 1);
  for (int64_t i = 0; i < dense.numel(); ++i) ASSERT_EQ(transposed.get(i), dense.get(i));
  EXPECT_TRUE(transposed.guards_hold());
}

TEST(Random, GivesTheSameBitsOnAnyNumberOfThreadsAndEveryInstructionSet) {
  for (const DType dtype : kDtypes) {
    HostTensor uniform(dtype, {100003}), normal(dtype, {100003});
    draw_uniform(uniform, -1, 1, 1);
    draw_normal(normal, 0, 1, 1);
    for_each_instruction_set([&] {
      for (const int threads : {1, 2, 7}) {
        HostTensor other_uniform(dtype, {100003}), other_normal(dtype, {100003});
        draw_uniform(other_uniform, -1, 1, threads);
        draw_normal(other_normal, 0, 1, threads);
        EXPECT_EQ(other_uniform.bytes(), uniform.bytes());
        EXPECT_EQ(other_normal.bytes(), normal.bytes());
      }
    });
  }
}

TEST(Random, DiffersBySeedAndByStream) {
  HostTensor a(DType::kF32, {100}), b(DType::kF32, {100}), c(DType::kF32, {100});
  draw_uniform(a, 0, 1, 1, {1, 1});
  draw_uniform(b, 0, 1, 1, {2, 1});
  draw_uniform(c, 0, 1, 1, {1, 2});
  EXPECT_NE(a.bytes(), b.bytes());
  EXPECT_NE(a.bytes(), c.bytes());
}

}  // namespace
}  // namespace halftone
