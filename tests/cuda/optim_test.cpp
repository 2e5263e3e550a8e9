// The optimizer's kernels on the CUDA device: the bits of the CPU's, for every rule and storage.
#include <cstring>
#include <functional>
#include <string>

#include "cpu/optim/parameters.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A call of kernels on a device, for the list of parameters as the device sees it.
using Call = std::function<Status(const OptimKernels&, Stream&, const MultiTensor<UpdateSlot>&, OptimizerState*)>;

class OptimOnCuda : public RoomTest {
 protected:
  Device& cuda() { return *cuda_device(context()).device; }
  const OptimKernels& cpu_kernels() { return device().device->kernels().optim; }
  Stream& cpu_stream() { return device().device->stream(); }

  static void send_all(DeviceCopies& copies, ParameterList& list) {
    for (const auto& parameter : list.parameters()) {
      for (const HostTensor* tensor : parameter->tensors()) copies.send(*tensor);
    }
  }
  static MomentSlot moment_at(const DeviceCopies& copies, const MomentSlot& moment) {
    return {copies.at(static_cast<std::byte*>(moment.data)), copies.at(moment.scales), moment.dtype};
  }
  static UpdateSlot slot_at(const DeviceCopies& copies, UpdateSlot slot) {
    slot.grad = copies.at(static_cast<const std::byte*>(slot.grad));
    slot.compute = copies.at(static_cast<std::byte*>(slot.compute));
    slot.master = copies.at(slot.master);
    slot.remainder = copies.at(slot.remainder);
    slot.moment1 = moment_at(copies, slot.moment1);
    slot.moment2 = moment_at(copies, slot.moment2);
    slot.moment3 = moment_at(copies, slot.moment3);
    return slot;
  }

  // Makes the call on the CUDA device with copies of everything, and brings the results back.
  void run_on_cuda(const Call& call, ParameterList& list, OptimizerState& state) {
    DeviceCopies copies(cuda());
    send_all(copies, list);
    const MultiTensor<UpdateSlot> here = list.tensors();
    std::vector<UpdateSlot> slots;
    for (int64_t i = 0; i < here.slot_count; ++i) slots.push_back(slot_at(copies, here.slots[i]));
    const auto chunk_count = static_cast<size_t>(here.chunk_count);
    const MultiTensor<UpdateSlot> there = {copies.lend(slots.data(), slots.size()),
                                           copies.lend(here.chunks, chunk_count), here.slot_count, here.chunk_count};
    OptimizerState* const state_there = copies.send(&state, 1);
    const int64_t waits = cuda_waits();
    ASSERT_TRUE(call(copies.kernels().optim, copies.stream(), there, state_there).ok());
    EXPECT_EQ(cuda_waits(), waits);
    ASSERT_TRUE(copies.fetch().ok());
  }

  // Every byte of all arrays is equal, and nothing was written beside them.
  static void expect_same(const ParameterList& a, const ParameterList& b) {
    EXPECT_TRUE(a.guards_hold());
    EXPECT_TRUE(a.bytes() == b.bytes());
  }

  void expect_same_steps(const std::vector<ParameterSpec>& specs, const Call& on_cpu, const Call& on_cuda,
                         float largest = 1.0f) {
    ParameterList cpu(specs), gpu(specs);
    OptimizerState cpu_state = {.grad_factor = 0.5f, .clip_value = 0.4f * largest}, gpu_state = cpu_state;
    for (uint32_t step = 1; step <= 3; ++step) {
      cpu.draw_gradients(step, -largest, largest);
      gpu.draw_gradients(step, -largest, largest);
      ASSERT_TRUE(on_cpu(cpu_kernels(), cpu_stream(), cpu.tensors(), &cpu_state).ok());
      run_on_cuda(on_cuda, gpu, gpu_state);
      expect_same(gpu, cpu);
      if (HasFailure()) FAIL() << "in step " << step;
    }
    EXPECT_EQ(std::memcmp(&cpu_state, &gpu_state, sizeof cpu_state), 0);
  }
};

// ---- Updates

struct Storage {
  const char* name;
  DType compute;
  bool has_compute, splits, has_master;
};
constexpr Storage kStorages[] = {
    {"f32", DType::kF32, false, false, true},        {"f32 and bf16", DType::kBF16, true, false, true},
    {"f32 and f16", DType::kF16, true, false, true}, {"split", DType::kBF16, true, true, true},
    {"bf16", DType::kBF16, true, false, false},      {"f16", DType::kF16, true, false, false},
};
struct Moments {
  const char* name;
  DType first, second;
};
constexpr Moments kMoments[] = {
    {"f32", DType::kF32, DType::kF32}, {"bf16", DType::kBF16, DType::kBF16}, {"codes", DType::kI8, DType::kU8}};

// One parameter in each storage and each size, with the given moments.
std::vector<ParameterSpec> specs_of(const Moments& moments, bool has_first, bool has_third) {
  std::vector<ParameterSpec> specs;
  constexpr DType kGradients[] = {DType::kF32, DType::kBF16, DType::kF16};
  for (const Storage& storage : kStorages) {
    for (const int64_t size : {1, 7, 256, 700}) {
      specs.push_back({.size = size,
                       .grad_dtype = kGradients[specs.size() % 3],
                       .compute_dtype = storage.compute,
                       .has_compute = storage.has_compute,
                       .group = static_cast<int32_t>(specs.size() % 2),
                       .moment1_dtype = moments.first,
                       .splits_master = storage.splits,
                       .moment2_dtype = moments.second,
                       .has_master = storage.has_master,
                       .has_moment1 = has_first,
                       .has_moment3 = has_third});
    }
  }
  specs.push_back({.size = kChunkSize + 3,
                   .moment1_dtype = moments.first,
                   .moment2_dtype = moments.second,
                   .has_moment1 = has_first,
                   .has_moment3 = has_third});
  return specs;
}

// A call of begin_step and an update with two groups of settings.
template <auto entry, class Group>
Call update_of(const Group* groups) {
  return
      [=](const OptimKernels& kernels, Stream& stream, const MultiTensor<UpdateSlot>& tensors, OptimizerState* state) {
        const Status status = kernels.begin_step(stream, {}, {}, state);
        return status.ok() ? (kernels.*entry)(stream, tensors, groups, state) : status;
      };
}

class UpdatesOnCuda : public OptimOnCuda, public testing::WithParamInterface<Moments> {
 protected:
  template <auto entry, class Group>
  void expect_same_updates(const Group (&groups)[2], bool has_first = true, bool has_third = false) {
    DeviceCopies copies(cuda());
    const Group* const there = copies.lend(groups, 2);
    expect_same_steps(specs_of(GetParam(), has_first, has_third), update_of<entry>(groups), update_of<entry>(there));
  }
};

constexpr AdamwGroup kAdamw[2] = {{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1},
                                  {.lr = 0.02, .beta1 = 0.95, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0}};

TEST_P(UpdatesOnCuda, AdamwGivesTheBitsOfTheCpu) { expect_same_updates<&OptimKernels::adamw>(kAdamw); }
TEST_P(UpdatesOnCuda, AdamGivesTheBitsOfTheCpu) { expect_same_updates<&OptimKernels::adam>(kAdamw); }

TEST_P(UpdatesOnCuda, LionGivesTheBitsOfTheCpu) {
  constexpr LionGroup kGroups[2] = {{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1},
                                    {.lr = 0.001, .beta1 = 0.95, .beta2 = 0.5, .weight_decay = 0}};
  expect_same_updates<&OptimKernels::lion>(kGroups);
}

constexpr SgdGroup kSgd[2] = {
    {.lr = 0.01, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.01, .nesterov = 1, .reserved = 0},
    {.lr = 0.1, .momentum = 0.99, .dampening = 0, .weight_decay = 0, .nesterov = 0, .reserved = 0}};

TEST_P(UpdatesOnCuda, SgdGivesTheBitsOfTheCpu) { expect_same_updates<&OptimKernels::sgd>(kSgd); }
TEST_P(UpdatesOnCuda, SgdWithoutMomentumGivesTheBitsOfTheCpu) { expect_same_updates<&OptimKernels::sgd>(kSgd, false); }

constexpr RmspropGroup kRmsprop[2] = {
    {.lr = 0.01, .alpha = 0.9, .epsilon = 1e-8, .weight_decay = 0.01, .momentum = 0.95, .centered = 0, .reserved = 0},
    {.lr = 0.1, .alpha = 0.99, .epsilon = 1e-6, .weight_decay = 0, .momentum = 0.5, .centered = 0, .reserved = 0}};

TEST_P(UpdatesOnCuda, RmspropGivesTheBitsOfTheCpu) {
  for (const bool has_momentum : {false, true}) {
    for (const bool is_centered : {false, true}) {
      expect_same_updates<&OptimKernels::rmsprop>(kRmsprop, has_momentum, is_centered);
      if (HasFailure()) FAIL() << has_momentum << is_centered;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Moments, UpdatesOnCuda, testing::ValuesIn(kMoments),
                         [](const auto& info) { return std::string(info.param.name); });

// Some of the gradients are above the largest that is squared.
TEST_F(OptimOnCuda, LargeGradientsGiveTheBitsOfTheCpu) {
  DeviceCopies copies(cuda());
  const std::vector<ParameterSpec> specs = {{.size = 700}, {.size = 300, .moment2_dtype = DType::kU8}};
  expect_same_steps(specs, update_of<&OptimKernels::adamw>(kAdamw),
                    update_of<&OptimKernels::adamw>(copies.lend(kAdamw, 2)), 0x1p65f);
}

TEST_F(OptimOnCuda, AnUpdateIsSkippedWhereAGradientWasNotFinite) {
  DeviceCopies copies(cuda());
  const AdamwGroup* const groups = copies.lend(kAdamw, 2);
  ParameterList before(mixed_parameters()), list(mixed_parameters());
  OptimizerState state = {.step = 3, .found_inf = 1.0f, .offending_parameter = 2};
  run_on_cuda(update_of<&OptimKernels::adamw>(groups), list, state);
  expect_same(list, before);
  EXPECT_EQ(state.step, 3);
  EXPECT_EQ(state.skipped, 1);
  EXPECT_EQ(state.skipped_parameter, 2);
}

TEST_F(OptimOnCuda, EachParameterCountsItsOwnUpdates) {
  const std::vector<ParameterSpec> specs = {{.size = 300}, {.size = 7}};
  ParameterList cpu(specs), gpu(specs);
  OptimizerState cpu_state = {.step = 40}, gpu_state = cpu_state;
  std::vector<int64_t> cpu_counts = {40, 0}, gpu_counts = cpu_counts;
  const auto point_at = [](std::vector<UpdateSlot>& slots, int64_t* counts) {
    std::vector<GradSlot> counted(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) slots[i].updates = counted[i].updates = counts + i;
    return counted;
  };
  const auto step = [](const OptimKernels& kernels, Stream& stream, const GradSlot* counted,
                       const MultiTensor<UpdateSlot>& tensors, const AdamwGroup* groups, OptimizerState* state) {
    const Status status = kernels.begin_step(stream, {}, {counted, nullptr, tensors.slot_count, 0}, state);
    return status.ok() ? kernels.adamw(stream, tensors, groups, state) : status;
  };
  for (const bool is_finite : {true, false, true}) {
    cpu_state.found_inf = gpu_state.found_inf = is_finite ? 0.0f : 1.0f;
    cpu.draw_gradients(1, -1, 1);
    gpu.draw_gradients(1, -1, 1);
    MultiTensor<UpdateSlot> list = cpu.tensors();
    std::vector<UpdateSlot> slots(list.slots, list.slots + 2);
    std::vector<GradSlot> counted = point_at(slots, cpu_counts.data());
    list.slots = slots.data();
    ASSERT_TRUE(step(cpu_kernels(), cpu_stream(), counted.data(), list, kAdamw, &cpu_state).ok());
    DeviceCopies copies(cuda());
    send_all(copies, gpu);
    list = gpu.tensors();
    slots = {slot_at(copies, list.slots[0]), slot_at(copies, list.slots[1])};
    counted = point_at(slots, copies.send(gpu_counts.data(), 2));
    list.slots = copies.lend(slots.data(), 2);
    list.chunks = copies.lend(list.chunks, static_cast<size_t>(list.chunk_count));
    OptimizerState* const state = copies.send(&gpu_state, 1);
    ASSERT_TRUE(step(copies.kernels().optim, copies.stream(), copies.lend(counted.data(), 2), list,
                     copies.lend(kAdamw, 2), state)
                    .ok());
    ASSERT_TRUE(copies.fetch().ok());
    expect_same(gpu, cpu);
  }
  EXPECT_EQ(cpu_counts, (std::vector<int64_t>{42, 2}));
  EXPECT_EQ(gpu_counts, cpu_counts);
}

// A shard begins anywhere in memory, and in the middle of its parameter.
TEST_F(OptimOnCuda, AShardWithoutAlignmentGivesTheBitsOfTheCpu) {
  constexpr int64_t kSize = 700;
  DeviceCopies copies(cuda());
  const AdamwGroup* const groups = copies.lend(kAdamw, 2);
  const auto shifted = [](UpdateSlot slot) {
    slot.grad = static_cast<const float*>(slot.grad) + 1;
    slot.master = nullptr;
    slot.compute = static_cast<uint16_t*>(slot.compute) + 3;
    slot.moment1.data = static_cast<int8_t*>(slot.moment1.data) + 5;
    slot.moment2.data = static_cast<float*>(slot.moment2.data) + 1;
    slot.size = kSize - 5;
    slot.first_block = 300;
    return slot;
  };
  const std::vector<Chunk> chunks = {{0, 0, kSize - 5}};
  const auto call_on = [&](const AdamwGroup* group, const Chunk* list, DeviceCopies* device) -> Call {
    return [=](const OptimKernels& kernels, Stream& stream, const MultiTensor<UpdateSlot>& tensors,
               OptimizerState* state) {
      UpdateSlot slot = *tensors.slots;
      if (device == nullptr) slot = shifted(slot);
      const UpdateSlot* const place = device == nullptr ? &slot : tensors.slots;
      const Status status = kernels.begin_step(stream, {}, {}, state);
      return status.ok() ? kernels.adamw(stream, {place, list, 1, 1}, group, state) : status;
    };
  };
  const std::vector<ParameterSpec> specs = {{.size = kSize, .moment1_dtype = DType::kI8, .has_master = false}};
  ParameterList cpu(specs), gpu(specs);
  cpu.draw_gradients(1, -1, 1);
  gpu.draw_gradients(1, -1, 1);
  OptimizerState cpu_state, gpu_state;
  ASSERT_TRUE(call_on(kAdamw, chunks.data(), nullptr)(cpu_kernels(), cpu_stream(), cpu.tensors(), &cpu_state).ok());
  {
    DeviceCopies memory(cuda());
    send_all(memory, gpu);
    const UpdateSlot slot = slot_at(memory, shifted(*gpu.tensors().slots));
    OptimizerState* const state = memory.send(&gpu_state, 1);
    const Call call = call_on(groups, memory.lend(chunks.data(), 1), &memory);
    ASSERT_TRUE(call(memory.kernels().optim, memory.stream(), {memory.lend(&slot, 1), nullptr, 1, 1}, state).ok());
    ASSERT_TRUE(memory.fetch().ok());
  }
  expect_same(gpu, cpu);
}

// ---- Adafactor

TEST_F(OptimOnCuda, AdafactorGivesTheBitsOfTheCpu) {
  constexpr AdafactorGroup kGroups[2] = {
      {.lr = 0.05, .beta2_decay = -0.8, .epsilon1 = 1e-8, .epsilon2 = 1e-3, .clip_threshold = 1.0, .weight_decay = 0.1},
      {.lr = 0.01, .beta2_decay = -0.5, .epsilon1 = 1e-6, .epsilon2 = 1e-2, .clip_threshold = 0.3, .weight_decay = 0}};
  std::vector<ParameterSpec> specs;
  const auto add = [&](int64_t matrices, int64_t rows, int64_t columns, DType grad, const Storage& storage) {
    specs.push_back({.size = matrices * rows * columns,
                     .grad_dtype = grad,
                     .compute_dtype = storage.compute,
                     .has_compute = storage.has_compute,
                     .group = static_cast<int32_t>(specs.size() % 2),
                     .splits_master = storage.splits,
                     .has_master = storage.has_master,
                     .has_moment3 = true,
                     .rows = rows,
                     .columns = columns});
  };
  add(3, 3, 3, DType::kF32, kStorages[0]);  // matrices of a tile or less
  add(300, 2, 5, DType::kBF16, kStorages[1]);
  add(1, 20, 300, DType::kF32, kStorages[3]);   // rows of more than a tile
  add(2, 70, 9, DType::kF16, kStorages[4]);     // rows of less than a warp
  add(1, 35, 520, DType::kBF16, kStorages[5]);  // more than a chunk
  for (const int64_t size : {1, 300}) {
    ParameterSpec vector = {.size = size};
    vector.has_moment3 = true;
    specs.push_back(vector);
  }
  DeviceCopies copies(cuda());
  const AdafactorGroup* const groups_there = copies.lend(kGroups, 2);
  std::vector<double> partials(100);
  double* const partials_there = copies.send(partials.data(), partials.size());
  const auto update = [](const AdafactorGroup* groups, double* sums) -> Call {
    return [=](const OptimKernels& kernels, Stream& stream, const MultiTensor<UpdateSlot>& tensors,
               OptimizerState* state) {
      const Status status = kernels.begin_step(stream, {}, {}, state);
      return status.ok() ? kernels.adafactor(stream, tensors, groups, sums, state) : status;
    };
  };
  expect_same_steps(specs, update(kGroups, partials.data()), update(groups_there, partials_there));
}

// ---- Averages and split weights

TEST_F(OptimOnCuda, AveragesAndTheirExchangeGiveTheBitsOfTheCpu) {
  const std::vector<ParameterSpec> specs = specs_of(kMoments[0], true, false);
  for (const double rate : {0.1, 0.75, 1.0}) {
    const Call average = [=](const OptimKernels& kernels, Stream& stream, const MultiTensor<UpdateSlot>& tensors,
                             OptimizerState*) { return kernels.average(stream, tensors, rate); };
    expect_same_steps(specs, average, average);
  }
  const Call swap = [](const OptimKernels& kernels, Stream& stream, const MultiTensor<UpdateSlot>& tensors,
                       OptimizerState*) {
    const Status status = kernels.average(stream, tensors, 0.3);
    return status.ok() ? kernels.swap_average(stream, tensors) : status;
  };
  expect_same_steps(specs, swap, swap);
}

TEST_F(OptimOnCuda, WeightsAreSplitAndJoinedExactly) {
  HostTensor master(DType::kF32, {1000}), high(DType::kBF16, {1000}), remainder(DType::kI16, {1000}),
      joined(DType::kF32, {1000});
  master.fill_uniform(-3, 3, 1);
  master.set(0, kInfinity);
  master.set(1, kNan);
  DeviceCopies copies(cuda());
  const View from = copies.send(master), to_high = copies.send(high), to_remainder = copies.send(remainder),
             back = copies.send(joined);
  ASSERT_TRUE(copies.kernels().optim.split_master(copies.stream(), from, to_high, to_remainder).ok());
  ASSERT_TRUE(copies.kernels().optim.join_master(copies.stream(), to_high, to_remainder, back).ok());
  ASSERT_TRUE(copies.fetch().ok());
  EXPECT_TRUE(joined.bytes() == master.bytes());
  HostTensor high_here(DType::kBF16, {1000}), remainder_here(DType::kI16, {1000});
  ASSERT_TRUE(cpu_kernels().split_master(cpu_stream(), master.view(), high_here.view(), remainder_here.view()).ok());
  EXPECT_TRUE(high.bytes() == high_here.bytes());
  EXPECT_TRUE(remainder.bytes() == remainder_here.bytes());
}

}  // namespace
}  // namespace halftone
