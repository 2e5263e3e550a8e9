#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// The formulas of torch.optim.RMSprop in double, written independently of the kernel: the mean square and the mean are
// kept, and subtracted if the group is centered.
struct Reference {
  double p, square = 0, mean = 0, buffer = 0;

  void update(const RmspropGroup& group, double grad) {
    const double g = grad + group.weight_decay * p;
    square = group.alpha * square + (1 - group.alpha) * g * g;
    mean = group.alpha * mean + (1 - group.alpha) * g;
    const double root = std::sqrt(group.centered != 0 ? square - mean * mean : square);
    const double step = g / (root + group.epsilon);
    buffer = group.momentum * buffer + step;
    p -= group.lr * (group.momentum != 0 ? buffer : step);
  }
};

struct RmspropCase {
  const char* name;
  RmspropGroup group;
};

const RmspropCase kCases[] = {
    {"plain", {0.001, 0.99, 1e-8, 0, 0, 0, 0}},
    {"decay", {0.001, 0.9, 1e-4, 0.1, 0, 0, 0}},
    {"momentum", {0.0005, 0.99, 1e-8, 0.01, 0.9, 0, 0}},
    {"centered", {0.001, 0.99, 1e-3, 0.01, 0, 1, 0}},
    {"centered with momentum", {0.0005, 0.95, 1e-3, 0, 0.8, 1, 0}},
};

// The moments that a case has.
ParameterList list_for(const RmspropGroup& group, std::vector<ParameterSpec> specs) {
  for (ParameterSpec& spec : specs) {
    spec.has_moment1 = group.momentum != 0;
    spec.has_moment3 = group.centered != 0;
  }
  return ParameterList(specs);
}

using References = std::vector<std::vector<Reference>>;

References start_of(ParameterList& list) {
  References all;
  for (const auto& parameter : list.parameters()) {
    all.emplace_back();
    for (int64_t i = 0; i < parameter->spec.size; ++i) {
      all.back().push_back({parameter->spec.has_master ? parameter->master.get(i) : parameter->compute.get(i)});
    }
  }
  return all;
}

void run(Stream& stream, ParameterList& list, const RmspropGroup& group, int steps, References* references = nullptr) {
  const RmspropGroup groups[] = {group, group};  // mixed_parameters() is in two
  OptimizerState state;
  for (int t = 1; t <= steps; ++t) {
    state.grad_factor = 0.5f;
    list.draw_gradients(static_cast<uint32_t>(t), -1, 1);
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    ASSERT_TRUE(cpu::kOptimKernels.rmsprop(stream, list.tensors(), groups, &state).ok());
    for (size_t k = 0; references != nullptr && k < references->size(); ++k) {
      const Streams& parameter = *list.parameters()[k];
      for (int64_t i = 0; i < parameter.spec.size; ++i) {
        (*references)[k][static_cast<size_t>(i)].update(group, 0.5 * parameter.grad.get(i));
      }
    }
  }
}

// The largest distance of a weight from its reference.
double largest_gap(ParameterList& list, const References& references) {
  double gap = 0;
  for (size_t k = 0; k < references.size(); ++k) {
    Streams& parameter = *list.parameters()[k];
    if (parameter.spec.splits_master) parameter.join();
    const HostTensor& weights = parameter.spec.has_master ? parameter.master : parameter.compute;
    for (int64_t i = 0; i < parameter.spec.size; ++i) {
      const double distance = std::fabs(weights.get(i) - references[k][static_cast<size_t>(i)].p);
      EXPECT_FALSE(std::isnan(distance)) << k << " " << i;
      gap = std::max(gap, distance);
    }
  }
  EXPECT_TRUE(list.guards_hold());
  return gap;
}

// Each step rounds the weight, by at most 2^-24 of 1, and the step itself about 16 times: it is at most 1 / sqrt(1 -
// alpha) = 10, and 1 / (1 - momentum) times that with momentum. Roundings have both signs: six deviations of them.
double bound(const RmspropGroup& group, int steps) {
  return 6 * std::sqrt(steps) * (0x1p-24 + group.lr * 10 / (1 - group.momentum) * 16 * 0x1p-24);
}

std::vector<ParameterSpec> stored_as(bool split) {
  return {{300, DType::kBF16, DType::kBF16, true, 0, DType::kF32, split},
          {63, DType::kF32, DType::kBF16, true, 0, DType::kF32, split}};
}

// The moments in few bits. A weight takes steps of both signs: a thousand of them move it by about sqrt(1000) = 30 lr.
// It may be off by a quarter of six such ways, and is off by more than FP32 explains, since these moments were rounded.
TEST(Rmsprop, FollowsTheFormulasInEveryStorage) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  for (const RmspropCase& test : kCases) {
    for (const DType moment1 : {DType::kF32, DType::kBF16, DType::kI8}) {
      for (const DType moment2 : {DType::kF32, DType::kU8}) {
        if (moment1 == DType::kF32 && moment2 == DType::kF32) continue;
        if (moment2 == DType::kF32 && test.group.momentum == 0 && test.group.centered == 0) continue;
        SCOPED_TRACE(testing::Message() << test.name << " " << name_of(moment1) << " " << name_of(moment2));
        std::vector<ParameterSpec> specs = stored_as(false);
        for (ParameterSpec& spec : specs) {
          spec.moment1_dtype = moment1;
          spec.moment2_dtype = moment2;
        }
        ParameterList list = list_for(test.group, specs);
        References references = start_of(list);
        run(stream, list, test.group, 1000, &references);
        const double gap = largest_gap(list, references);
        EXPECT_LE(gap, 0.25 * 30 * 6 * test.group.lr / (1 - test.group.momentum));
        EXPECT_GT(gap, bound(test.group, 1000));
      }
    }
  }
}

TEST(Rmsprop, IsTheSameForEveryDtypeSizeAndInstructionSet) {
  for (const RmspropCase& test : kCases) {
    SCOPED_TRACE(test.name);
    for_each_instruction_set([&] {
      ThreadPool pool(2);
      cpu::CpuStream stream(pool);
      ParameterList list = list_for(test.group, mixed_parameters());
      References references = start_of(list);
      run(stream, list, test.group, 3, &references);
      EXPECT_LE(largest_gap(list, references), bound(test.group, 3));
    });
  }
}

// The gradient is the same in every step: PyTorch's mean square less the square of the mean is 0 but for rounding, and
// may be below.
TEST(Rmsprop, ACenteredStepStaysANumberWhereTheGradientDoesNotChange) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  const RmspropGroup group = {1e-4, 0.5, 1e-8, 0, 0, 1, 0};
  ParameterList list = list_for(group, {{300}});
  OptimizerState state;
  for (int64_t i = 0; i < 300; ++i) list.parameters()[0]->grad.set(i, 0.1 + 0.01 * static_cast<double>(i));
  for (int t = 0; t < 500; ++t) {
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    ASSERT_TRUE(cpu::kOptimKernels.rmsprop(stream, list.tensors(), &group, &state).ok());
  }
  for (int64_t i = 0; i < 300; ++i) ASSERT_TRUE(std::isfinite(list.parameters()[0]->master.get(i))) << i;
}

TEST(Rmsprop, ANanGradientReachesTheWeight) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  for (const RmspropCase& test : kCases) {
    ParameterList list = list_for(test.group, {{40}});
    Streams& parameter = *list.parameters()[0];
    for (int64_t i = 0; i < 40; ++i) parameter.grad.set(i, i == 7 ? NAN : 1);
    OptimizerState state;
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    ASSERT_TRUE(cpu::kOptimKernels.rmsprop(stream, list.tensors(), &test.group, &state).ok());
    for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(std::isnan(parameter.master.get(i)), i == 7) << test.name << " " << i;
  }
}

std::vector<std::byte> bytes_after_steps(const RmspropGroup& group, int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  std::vector<ParameterSpec> specs = mixed_parameters();
  for (ParameterSpec& spec : specs) {
    spec.moment1_dtype = DType::kI8;
    spec.moment2_dtype = DType::kU8;
  }
  ParameterList list = list_for(group, specs);
  run(stream, list, group, 3);
  return list.bytes();
}

TEST(Rmsprop, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const RmspropCase& test : kCases) {
    const auto one = bytes_after_steps(test.group, 1);
    EXPECT_EQ(bytes_after_steps(test.group, 2), one) << test.name;
    EXPECT_EQ(bytes_after_steps(test.group, 7), one) << test.name;
  }
}

TEST(Rmsprop, TouchesNothingWhereTheGradientsWereNotFinite) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  const RmspropGroup& group = kCases[4].group;
  ParameterList list = list_for(group, mixed_parameters());
  list.draw_gradients(1, -1, 1);
  const auto before = list.bytes();
  OptimizerState state;
  state.found_inf = 1;
  state.step = 4;
  ASSERT_TRUE(cpu::kOptimKernels.rmsprop(stream, list.tensors(), &group, &state).ok());
  EXPECT_EQ(list.bytes(), before);
}

}  // namespace
}  // namespace halftone
