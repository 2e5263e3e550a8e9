#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "backend/chunks.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr DType kDtypes[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<NormNode> nodes_of(const std::vector<GradSlot>& slots, const std::vector<Chunk>& chunks) {
  std::vector<NormNode> nodes;
  for (const Chunk& chunk : chunks) {
    const GradSlot& slot = slots[static_cast<size_t>(chunk.slot)];
    nodes.push_back({.parameter = slot.parameter,
                     .first_block = slot.first_block + chunk.begin / kBlockSize,
                     .blocks = (chunk.end - chunk.begin + kBlockSize - 1) / kBlockSize});
  }
  return nodes;
}

OptimizerState norm_of(const std::vector<const HostTensor*>& gradients, int threads = 1) {
  std::vector<GradSlot> slots;
  std::vector<int64_t> sizes;
  for (const HostTensor* gradient : gradients) {
    slots.push_back({.grad = gradient->data(),
                     .grad_dtype = gradient->view().dtype,
                     .parameter = static_cast<int32_t>(slots.size()),
                     .size = gradient->numel()});
    sizes.push_back(gradient->numel());
  }
  const std::vector<Chunk> chunks = plan_chunks(sizes);
  std::vector<double> partials(chunks.size(), kNan);
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  OptimizerState state;
  state.found_inf = 0.5f;
  state.grad_norm_squared = -1;
  const MultiTensor<GradSlot> list = {slots.data(), chunks.data(), static_cast<int64_t>(slots.size()),
                                      static_cast<int64_t>(chunks.size())};
  EXPECT_TRUE(cpu::kOptimKernels.grad_norm(stream, list, partials.data(), &state).ok());
  const std::vector<NormNode> nodes = nodes_of(slots, chunks);
  EXPECT_TRUE(cpu::kOptimKernels.sum_norm(stream, nodes.data(), partials.data(), list.chunk_count, &state).ok());
  return state;
}

double reference(const HostTensor& gradient) {
  double sum = 0;
  for (int64_t i = 0; i < gradient.numel(); ++i) sum += gradient.get(i) * gradient.get(i);
  return sum;
}

TEST(GradNorm, IsTheSumOfSquaresForEveryTailLength) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      for (int64_t size = 0; size < 64; ++size) {
        HostTensor gradient(dtype, {size});
        gradient.fill_uniform(-3, 3, static_cast<uint32_t>(size));
        const OptimizerState state = norm_of({&gradient});
        EXPECT_EQ(state.found_inf, 0.0f);
        EXPECT_NEAR(state.grad_norm_squared, reference(gradient), 1e-14 * reference(gradient));
      }
    }
  });
}

TEST(GradNorm, AddsAllGradientsOfAList) {
  HostTensor a(DType::kF32, {3 * kChunkSize + 5}), b(DType::kBF16, {257}), none(DType::kF32, {0}), c(DType::kF16, {1});
  a.fill_uniform(-1, 1, 1);
  b.fill_uniform(-1, 1, 2);
  c.fill_uniform(-1, 1, 3);
  const double expected = reference(a) + reference(b) + reference(c);
  EXPECT_NEAR(norm_of({&a, &none, &b, &c}).grad_norm_squared, expected, 1e-12 * expected);
}

TEST(GradNorm, OfNoGradientsIsZero) {
  EXPECT_EQ(norm_of({}).grad_norm_squared, 0.0);
  EXPECT_EQ(norm_of({}).found_inf, 0.0f);
}

// N1 and N2: one bad element at any place of any tail, after whole blocks or before them.
TEST(GradNorm, FindsOneElementThatIsNotFinite) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      for (const double bad : {kInfinity, -kInfinity, kNan}) {
        for (int64_t size = 1; size < 64; ++size) {
          for (const int64_t at : {int64_t{0}, size / 2, size - 1}) {
            HostTensor gradient(dtype, {size});
            gradient.fill_uniform(-1, 1, 5);
            gradient.set(at, bad);
            ASSERT_EQ(norm_of({&gradient}).found_inf, 1.0f) << name_of(dtype) << " " << bad << " " << size << " " << at;
          }
        }
      }
    }
  });
}

// N1
TEST(GradNorm, FindsOneElementThatIsNotFiniteAmongManyBlocks) {
  for (int64_t at = 0; at < 2 * kBlockSize + 65; ++at) {
    HostTensor gradient(DType::kBF16, {2 * kBlockSize + 65});
    gradient.fill_uniform(-1, 1, 5);
    gradient.set(at, at % 2 == 0 ? kNan : kInfinity);
    ASSERT_EQ(norm_of({&gradient}).found_inf, 1.0f) << at;
  }
}

TEST(GradNorm, NamesTheFirstOffenderAndItsKind) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      HostTensor clean(dtype, {2 * kChunkSize}), late(dtype, {2 * kChunkSize}), other(dtype, {3});
      clean.fill_uniform(-1, 1, 1);
      late.fill_uniform(-1, 1, 2);
      other.fill_uniform(-1, 1, 3);
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_parameter, -1);
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_kind, NotFinite::kNothing);
      other.set(0, kNan);
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_parameter, 2);
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_kind, NotFinite::kNan);
      late.set(2 * kChunkSize - 1, -kInfinity);
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_parameter, 1);
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_kind, NotFinite::kInfinity);
      late.set(2 * kChunkSize - 2, kNan);  // before the infinity
      EXPECT_EQ(norm_of({&clean, &late, &other}).offending_kind, NotFinite::kNan);
    }
  });
}

// N2
TEST(GradNorm, IsNotDeceivedByInfinitiesOfBothSigns) {
  HostTensor gradient(DType::kF32, {4});
  for (int64_t i = 0; i < 4; ++i) gradient.set(i, i % 2 == 0 ? kInfinity : -kInfinity);
  EXPECT_EQ(norm_of({&gradient}).found_inf, 1.0f);
}

// N3: finite gradients whose squares overflow or underflow in their own format, or in FP32.
TEST(GradNorm, NeitherOverflowsNorVanishes) {
  struct Extreme {
    DType dtype;
    double value;
  };
  for (const Extreme extreme :
       {Extreme{DType::kF16, 300}, Extreme{DType::kF16, 65504}, Extreme{DType::kF32, 1e20}, Extreme{DType::kF32, 3e38},
        Extreme{DType::kF32, 1e-30}, Extreme{DType::kBF16, 3e38}, Extreme{DType::kF32, 1e-45}}) {
    HostTensor gradient(extreme.dtype, {1000});
    for (int64_t i = 0; i < 1000; ++i) gradient.set(i, extreme.value);
    const OptimizerState state = norm_of({&gradient});
    EXPECT_EQ(state.found_inf, 0.0f) << extreme.value;
    EXPECT_NEAR(state.grad_norm_squared / reference(gradient), 1.0, 1e-12) << extreme.value;
  }
}

TEST(GradNorm, GivesTheSameBitsOnAnyNumberOfThreads) {
  HostTensor a(DType::kF32, {5 * kChunkSize + 5}), b(DType::kBF16, {2 * kChunkSize + 257});
  a.fill_uniform(-1, 1, 1);
  b.fill_uniform(-1, 1, 2);
  const double one = norm_of({&a, &b}, 1).grad_norm_squared;
  EXPECT_EQ(norm_of({&a, &b}, 2).grad_norm_squared, one);
  EXPECT_EQ(norm_of({&a, &b}, 7).grad_norm_squared, one);
}

// The squared norm of a gradient whose shards, cut before the blocks `cuts`, were checked apart and added by the tree.
double norm_of_shards(const HostTensor& gradient, std::vector<int64_t> cuts) {
  const int64_t blocks = (gradient.numel() + kBlockSize - 1) / kBlockSize;
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(blocks);
  std::vector<NormNode> nodes;
  std::vector<double> sums;
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  const auto* bytes = static_cast<const char*>(gradient.data());
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    const int64_t begin = cuts[k] * kBlockSize;
    const int64_t end = std::min(cuts[k + 1] * kBlockSize, gradient.numel());
    const std::vector<GradSlot> slots = {{.grad = bytes + begin * static_cast<int64_t>(size_of(gradient.view().dtype)),
                                          .grad_dtype = gradient.view().dtype,
                                          .parameter = 0,
                                          .size = end - begin,
                                          .first_block = cuts[k]}};
    const std::vector<Chunk> chunks = plan_chunks(std::vector<ChunkRange>{
        {.size = end - begin, .first_block = cuts[k], .ends_parameter = cuts[k + 1] == blocks}});
    std::vector<double> partials(chunks.size());
    OptimizerState state;
    const MultiTensor<GradSlot> list = {slots.data(), chunks.data(), 1, static_cast<int64_t>(chunks.size())};
    EXPECT_TRUE(cpu::kOptimKernels.grad_norm(stream, list, partials.data(), &state).ok());
    const std::vector<NormNode> own = nodes_of(slots, chunks);
    nodes.insert(nodes.end(), own.begin(), own.end());
    sums.insert(sums.end(), partials.begin(), partials.end());
  }
  OptimizerState state;
  EXPECT_TRUE(
      cpu::kOptimKernels.sum_norm(stream, nodes.data(), sums.data(), static_cast<int64_t>(nodes.size()), &state).ok());
  return state.grad_norm_squared;
}

// N3: the norm does not depend on where shards are cut.
TEST(GradNorm, HasTheSameBitsForEveryNumberOfShards) {
  std::mt19937 random(1);
  const int rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    HostTensor gradient(kDtypes[round % 3], {1 + static_cast<int64_t>(random() % 60000)});
    gradient.fill_uniform(-1, 1, static_cast<uint32_t>(round));
    const double whole = norm_of({&gradient}).grad_norm_squared;
    const int64_t blocks = (gradient.numel() + kBlockSize - 1) / kBlockSize;
    for (const int64_t shards : {1, 2, 4, 8}) {
      std::vector<int64_t> cuts;
      for (int64_t k = 1; k < shards; ++k) cuts.push_back(k * blocks / shards);
      ASSERT_EQ(norm_of_shards(gradient, cuts), whole) << round << " " << gradient.numel() << " " << shards;
    }
    std::vector<int64_t> anywhere = {static_cast<int64_t>(random()) % (blocks + 1),
                                     static_cast<int64_t>(random()) % (blocks + 1)};
    std::sort(anywhere.begin(), anywhere.end());
    ASSERT_EQ(norm_of_shards(gradient, anywhere), whole) << round << " " << anywhere[0] << " " << anywhere[1];
  }
}

TEST(GradNorm, LeavesTheRestOfTheStateAlone) {
  HostTensor gradient(DType::kF32, {3});
  gradient.set(0, kNan);
  const OptimizerState state = norm_of({&gradient});
  EXPECT_EQ(state.step, 0);
  EXPECT_EQ(state.grad_factor, 1.0f);
  EXPECT_EQ(state.lr_factor, 1.0);
}

}  // namespace
}  // namespace halftone
