// The check and the norm of gradients, and the changes of an optimizer's state, on the CUDA device: the bits of the
// CPU's.
#include <cstring>
#include <functional>
#include <random>

#include "backend/chunks.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class GradCheckOnCuda : public RoomTest {
 protected:
  Device& cuda() { return *cuda_device(context()).device; }
  const OptimKernels& cpu_kernels() { return device().device->kernels().optim; }
  Stream& cpu_stream() { return device().device->stream(); }
};

// Gradients with numbers that are not in order, as a list of some of a model's parameters.
struct Gradients {
  std::vector<HostTensor> tensors;
  std::vector<GradSlot> slots;
  std::vector<Chunk> chunks;
  std::vector<NormNode> nodes;

  void add(DType dtype, int64_t size) {
    tensors.emplace_back(dtype, Shape{size});
    tensors.back().fill_uniform(-2, 2, static_cast<uint32_t>(tensors.size()));
  }
  void plan() {
    std::vector<int64_t> sizes;
    for (const HostTensor& tensor : tensors) {
      slots.push_back({.grad = tensor.data(),
                       .grad_dtype = tensor.view().dtype,
                       .parameter = static_cast<int32_t>(3 * slots.size() + 1),
                       .size = tensor.numel()});
      sizes.push_back(tensor.numel());
    }
    chunks = plan_chunks(sizes);
    for (const Chunk& chunk : chunks) {
      nodes.push_back({.parameter = slots[static_cast<size_t>(chunk.slot)].parameter,
                       .first_block = chunk.begin / kBlockSize,
                       .blocks = (chunk.end - chunk.begin + kBlockSize - 1) / kBlockSize});
    }
  }
  MultiTensor<GradSlot> here() const {
    return {slots.data(), chunks.data(), static_cast<int64_t>(slots.size()), static_cast<int64_t>(chunks.size())};
  }
  MultiTensor<GradSlot> there(DeviceCopies& copies) const {
    std::vector<GradSlot> moved = slots;
    for (size_t i = 0; i < moved.size(); ++i) moved[i].grad = copies.send(tensors[i]).data;
    return {copies.lend(moved.data(), moved.size()), copies.lend(chunks.data(), chunks.size()),
            static_cast<int64_t>(slots.size()), static_cast<int64_t>(chunks.size())};
  }
};

Gradients some_gradients() {
  Gradients gradients;
  for (const int64_t size : {1, 0, 5, 31, 33, 255, 256, 257}) gradients.add(DType::kF32, size);
  for (const int64_t size : {17, 300, 1000}) gradients.add(DType::kBF16, size);
  gradients.add(DType::kF16, 700);
  gradients.add(DType::kF32, kChunkSize / 2 + 100);
  gradients.add(DType::kBF16, 2 * kChunkSize + 600);
  return gradients;
}

class NormOnCuda : public GradCheckOnCuda {
 protected:
  void expect_same_check(Gradients& gradients) {
    gradients.plan();
    OptimizerState cpu = {.grad_norm_squared = -1, .found_inf = 0.5f}, gpu = cpu;
    std::vector<double> cpu_sums(gradients.chunks.size(), kNan), gpu_sums = cpu_sums;
    const auto count = static_cast<int64_t>(gradients.chunks.size());
    ASSERT_TRUE(cpu_kernels().grad_norm(cpu_stream(), gradients.here(), cpu_sums.data(), &cpu).ok());
    ASSERT_TRUE(cpu_kernels().sum_norm(cpu_stream(), gradients.nodes.data(), cpu_sums.data(), count, &cpu).ok());
    DeviceCopies copies(cuda());
    double* const sums = copies.send(gpu_sums.data(), gpu_sums.size());
    OptimizerState* const state = copies.send(&gpu, 1);
    const NormNode* const nodes = copies.lend(gradients.nodes.data(), gradients.nodes.size());
    const MultiTensor<GradSlot> there = gradients.there(copies);
    const int64_t waits = cuda_waits();
    ASSERT_TRUE(copies.kernels().optim.grad_norm(copies.stream(), there, sums, state).ok());
    ASSERT_TRUE(copies.kernels().optim.sum_norm(copies.stream(), nodes, sums, count, state).ok());
    EXPECT_EQ(cuda_waits(), waits);
    ASSERT_TRUE(copies.fetch().ok());
    for (size_t i = 0; i < cpu_sums.size(); ++i) {
      if (std::isfinite(cpu_sums[i])) {
        ASSERT_EQ(gpu_sums[i], cpu_sums[i]) << "chunk " << i;
      }
    }
    EXPECT_EQ(gpu.found_inf, cpu.found_inf);
    EXPECT_EQ(gpu.offending_parameter, cpu.offending_parameter);
    EXPECT_EQ(gpu.offending_kind, cpu.offending_kind);
    EXPECT_EQ(gpu.largest_parameter, cpu.largest_parameter);
    EXPECT_EQ(gpu.largest_partial, cpu.largest_partial);
    if (cpu.found_inf == 0.0f) {
      EXPECT_EQ(gpu.grad_norm_squared, cpu.grad_norm_squared);
    }
  }

  // The norm of nodes with random partials.
  void expect_same_sum(const std::vector<NormNode>& nodes) {
    std::mt19937 generator(static_cast<uint32_t>(nodes.size()));
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<double> partials;
    for (size_t i = 0; i < nodes.size(); ++i) partials.push_back(uniform(generator));
    OptimizerState cpu = {.grad_norm_squared = -1}, gpu = cpu;
    const auto count = static_cast<int64_t>(nodes.size());
    ASSERT_TRUE(cpu_kernels().sum_norm(cpu_stream(), nodes.data(), partials.data(), count, &cpu).ok());
    DeviceCopies copies(cuda());
    OptimizerState* const state = copies.send(&gpu, 1);
    const Status status = copies.kernels().optim.sum_norm(copies.stream(), copies.lend(nodes.data(), nodes.size()),
                                                          copies.lend(partials.data(), nodes.size()), count, state);
    ASSERT_TRUE(status.ok());
    ASSERT_TRUE(copies.fetch().ok());
    EXPECT_EQ(gpu.grad_norm_squared, cpu.grad_norm_squared);
  }
};

TEST_F(NormOnCuda, HasTheBitsOfTheCpu) {
  Gradients gradients = some_gradients();
  expect_same_check(gradients);
}

TEST_F(NormOnCuda, IsZeroForAnEmptyList) { expect_same_sum({}); }

TEST_F(NormOnCuda, NamesTheFirstGradientThatIsNotFinite) {
  struct Place {
    size_t tensor;
    int64_t element;
    double value;
  };
  const std::vector<Place> cases[] = {
      {{6, 255, kInfinity}},
      {{7, 256, kNan}},
      {{13, 2 * kChunkSize + 500, -kInfinity}},
      {{12, 3, kInfinity}, {12, 2, kNan}, {3, 30, kInfinity}},
      {{13, 400, kNan}, {13, 200, kInfinity}, {13, kChunkSize + 1, kNan}},
  };
  for (const std::vector<Place>& places : cases) {
    Gradients gradients = some_gradients();
    for (const Place& place : places) gradients.tensors[place.tensor].set(place.element, place.value);
    expect_same_check(gradients);
  }
}

std::vector<NormNode> chunk_nodes(int64_t parameter, int64_t first_block, int64_t end_block) {
  std::vector<NormNode> nodes;
  for (int64_t block = first_block; block < end_block;) {
    const int64_t blocks = std::min(kChunkSize / kBlockSize, end_block - block);
    nodes.push_back({parameter, block, blocks});
    block += blocks;
  }
  return nodes;
}

std::vector<NormNode> joined(const std::vector<std::vector<NormNode>>& lists) {
  std::vector<NormNode> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

TEST_F(NormOnCuda, AddsLargeParametersInTheOrderOfTheTree) {
  expect_same_sum(joined({chunk_nodes(0, 0, 64 * 300 + 5), chunk_nodes(1, 0, 3), chunk_nodes(4, 0, 2048),
                          chunk_nodes(5, 0, 2049), chunk_nodes(7, 0, 64 * 33)}));
}

TEST_F(NormOnCuda, AddsMoreNodesThanFitIntoOnePass) { expect_same_sum(chunk_nodes(2, 0, 64 * 70001 + 1)); }

// Lists of one shard begin and end anywhere in a parameter.
TEST_F(NormOnCuda, AddsPartsOfParametersInTheOrderOfTheTree) {
  expect_same_sum(joined({chunk_nodes(0, 64, 64 * 90), chunk_nodes(1, 0, 64 * 40)}));
  expect_same_sum(joined({{{0, 3, 1}, {0, 4, 4}, {0, 8, 8}, {0, 16, 16}, {0, 32, 32}}, chunk_nodes(0, 64, 64 * 70)}));
  expect_same_sum(joined({chunk_nodes(0, 0, 64 * 7), chunk_nodes(0, 64 * 9, 64 * 90)}));
  std::vector<NormNode> single;
  for (int64_t block = 0; block < 3000; ++block) single.push_back({0, block, 1});
  expect_same_sum(single);
}

// ---- Summaries

TEST_F(GradCheckOnCuda, GradientsAreSummarizedWhereTheConditionIsMet) {
  Gradients gradients = some_gradients();
  gradients.tensors[5].set(0, kInfinity);
  gradients.tensors[5].set(1, kNan);
  gradients.tensors[5].set(2, 0);
  gradients.plan();
  for (const int32_t condition : {0, 1}) {
    TensorSummary cpu, gpu;
    cpu.exponents[3] = gpu.exponents[3] = 2;
    const StatisticsKernels& here = device().device->kernels().statistics;
    ASSERT_TRUE(here.summarize_gradients(cpu_stream(), gradients.here(), &condition, &cpu).ok());
    DeviceCopies copies(cuda());
    TensorSummary* const there = copies.send(&gpu, 1);
    const StatisticsKernels& kernels = copies.kernels().statistics;
    const int32_t* const lent = copies.lend(&condition, 1);
    ASSERT_TRUE(kernels.summarize_gradients(copies.stream(), gradients.there(copies), lent, there).ok());
    ASSERT_TRUE(copies.fetch().ok());
    EXPECT_EQ(gpu, cpu);
    EXPECT_EQ(gpu.extremes.nans, condition);
  }
}

TEST_F(GradCheckOnCuda, ViewsAreSummarizedAsOnTheCpu) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E5M2}) {
    for (const Shape& strides : {Shape{33, 1}, Shape{40, 1}, Shape{1, 300}, Shape{0, 1}}) {
      HostTensor tensor(dtype, {300, 33}, strides);
      tensor.fill_uniform(-2, 2, 1);
      tensor.set(7, 0);
      tensor.set(8, kInfinity);
      tensor.set(9, kNan);
      TensorSummary cpu, gpu;
      ASSERT_TRUE(device().device->kernels().statistics.summarize(cpu_stream(), tensor.view(), &cpu).ok());
      DeviceCopies copies(cuda());
      TensorSummary* const there = copies.send(&gpu, 1);
      ASSERT_TRUE(copies.kernels().statistics.summarize(copies.stream(), copies.send(tensor), there).ok());
      ASSERT_TRUE(copies.fetch().ok());
      EXPECT_EQ(gpu, cpu) << name_of(dtype);
    }
  }
}

TEST_F(GradCheckOnCuda, UpdatesAreSummarizedAsOnTheCpu) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Shape& strides : {Shape{33, 1}, Shape{40, 1}, Shape{1, 300}}) {
      HostTensor before(dtype, {300, 33}, strides), after(dtype, {300, 33}), gradient(DType::kBF16, {300, 33});
      before.fill_uniform(-2, 2, 1);
      gradient.fill_uniform(-1, 1, 2);
      for (int64_t i = 0; i < before.numel(); ++i) {
        const double update = std::ldexp(gradient.get(i), -static_cast<int>(i % 30));
        after.set(i, i % 5 == 0 ? before.get(i) : before.get(i) + update);
      }
      before.set(7, kInfinity);
      after.set(8, kNan);
      gradient.set(9, kInfinity);
      gradient.set(10, 0);
      UpdateSummary cpu, gpu;
      const StatisticsKernels& here = device().device->kernels().statistics;
      ASSERT_TRUE(here.summarize_update(cpu_stream(), before.view(), after.view(), gradient.view(), &cpu).ok());
      DeviceCopies copies(cuda());
      UpdateSummary* const there = copies.send(&gpu, 1);
      const View views[] = {copies.send(before), copies.send(after), copies.send(gradient)};
      const StatisticsKernels& kernels = copies.kernels().statistics;
      ASSERT_TRUE(kernels.summarize_update(copies.stream(), views[0], views[1], views[2], there).ok());
      ASSERT_TRUE(copies.fetch().ok());
      EXPECT_EQ(gpu, cpu) << name_of(dtype);
      EXPECT_EQ(gpu.not_finite, 3);
      EXPECT_EQ(gpu.still, 1);
    }
  }
}

// ---- States

struct States {
  OptimizerState optimizer = {.step = 4, .grad_norm_squared = 9, .grad_factor = 0.5f, .offending_parameter = 3};
  ScalerState scaler;
  TensorSummary gradients;

  States() {
    for (int64_t& count : gradients.exponents) count = 1;
  }
};

class StatesOnCuda : public GradCheckOnCuda, public testing::WithParamInterface<float> {
 protected:
  using Call = std::function<Status(const OptimKernels&, Stream&, OptimizerState*, ScalerState*, TensorSummary*)>;

  void expect_same(const Call& call) {
    States cpu, gpu;
    cpu.optimizer.found_inf = gpu.optimizer.found_inf = GetParam();
    cpu.scaler.found_inf = gpu.scaler.found_inf = GetParam();
    ASSERT_TRUE(call(cpu_kernels(), cpu_stream(), &cpu.optimizer, &cpu.scaler, &cpu.gradients).ok());
    DeviceCopies copies(cuda());
    OptimizerState* const optimizer = copies.send(&gpu.optimizer, 1);
    ScalerState* const scaler = copies.send(&gpu.scaler, 1);
    TensorSummary* const gradients = copies.send(&gpu.gradients, 1);
    ASSERT_TRUE(call(copies.kernels().optim, copies.stream(), optimizer, scaler, gradients).ok());
    ASSERT_TRUE(copies.fetch().ok());
    EXPECT_EQ(std::memcmp(&cpu.optimizer, &gpu.optimizer, sizeof cpu.optimizer), 0);
    EXPECT_EQ(std::memcmp(&cpu.scaler, &gpu.scaler, sizeof cpu.scaler), 0);
    EXPECT_EQ(cpu.gradients, gpu.gradients);
  }
};

TEST_P(StatesOnCuda, ChangeAsOnTheCpu) {
  const NormGuard narrow = {.max_norm = 2, .max_ratio = 2, .decay = 0.9};
  const NormGuard wide = {.max_norm = 4, .max_ratio = 2, .decay = 0.9};
  const StateEdit edits[] = {{.kind = StateEditKind::kAcceptGradients},
                             {.kind = StateEditKind::kGuardNorm, .guard = narrow},
                             {.kind = StateEditKind::kGuardNorm, .guard = wide},
                             {.kind = StateEditKind::kSetClipValue, .value = 0.25},
                             {.kind = StateEditKind::kClipByNorm, .value = 0.7},
                             {.kind = StateEditKind::kUnscale},
                             {.kind = StateEditKind::kEndStep}};
  for (const StateEdit& edit : edits) {
    expect_same([&](const OptimKernels& k, Stream& s, OptimizerState* o, ScalerState* scaler, TensorSummary*) {
      StateEdit with_scaler = edit;
      with_scaler.scaler = scaler;
      return k.edit_state(s, with_scaler, o);
    });
  }
  expect_same([](const OptimKernels& k, Stream& s, OptimizerState* o, ScalerState*, TensorSummary*) {
    const Schedule cosine = {.kind = ScheduleKind::kCosine, .total_steps = 10, .final_factor = 0.1, .warmup_steps = 2};
    return k.begin_step(s, cosine, {}, o);
  });
  expect_same([](const OptimKernels& k, Stream& s, OptimizerState*, ScalerState* scaler, TensorSummary* gradients) {
    ScalerSettings settings;
    settings.growth_interval = 1;
    settings.histogram_limit = 1000;
    return k.update_scale(s, settings, scaler, gradients);
  });
  expect_same([](const OptimKernels& k, Stream& s, OptimizerState*, ScalerState* scaler, TensorSummary*) {
    return k.update_scale(s, ScalerSettings(), scaler, nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(FoundInf, StatesOnCuda, testing::Values(0.0f, 1.0f));

}  // namespace
}  // namespace halftone
