#include <gtest/gtest.h>

#include <cmath>

#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr AdamwGroup kGroups[] = {{1e-3, 0.9, 0.999, 1e-8, 0.01}, {3e-3, 0.8, 0.99, 1e-2, 0.0}};

// The formulas of the paper and of torch.optim.AdamW in double, written independently of the kernel.
struct Reference {
  double p, m = 0, v = 0;
  void update(const AdamwGroup& group, double lr_factor, double grad, int64_t t) {
    const double lr = group.lr * lr_factor;
    p *= 1 - lr * group.weight_decay;
    m = group.beta1 * m + (1 - group.beta1) * grad;
    v = group.beta2 * v + (1 - group.beta2) * grad * grad;
    const double m_hat = m / (1 - std::pow(group.beta1, static_cast<double>(t)));
    const double v_hat = v / (1 - std::pow(group.beta2, static_cast<double>(t)));
    p -= lr * m_hat / (std::sqrt(v_hat) + group.epsilon);
  }
};

std::vector<std::vector<Reference>> start_of(ParameterList& list) {
  std::vector<std::vector<Reference>> all;
  for (const auto& parameter : list.parameters()) {
    all.emplace_back();
    for (int64_t i = 0; i < parameter->spec.size; ++i) all.back().push_back({parameter->master.get(i)});
  }
  return all;
}

void follow(ParameterList& list, const OptimizerState& state, std::vector<std::vector<Reference>>& references) {
  for (size_t k = 0; k < references.size(); ++k) {
    const Streams& parameter = *list.parameters()[k];
    for (int64_t i = 0; i < parameter.spec.size; ++i) {
      references[k][static_cast<size_t>(i)].update(kGroups[parameter.spec.group], state.lr_factor,
                                                   parameter.grad.get(i) * static_cast<double>(state.grad_factor),
                                                   state.step);
    }
  }
}

// Each step rounds the master once (2^-24 of at most `largest`). Its update is at most 3 lr for these gradients, with a
// relative error of 1.5e-4: the second moment accumulates at most three roundings and the rounding of beta2 over its
// memory of 1 / (1 - beta2) = 1000 steps, and the root halves them. The first moment remembers only ten steps and adds
// less.
double bound(int64_t steps, double lr, double largest) {
  return static_cast<double>(steps) * (0x1p-24 * largest + 3 * lr * 1.5e-4);
}

void expect_close(ParameterList& list, const std::vector<std::vector<Reference>>& references, int64_t steps) {
  for (size_t k = 0; k < references.size(); ++k) {
    const Streams& parameter = *list.parameters()[k];
    const double tolerance = bound(steps, kGroups[parameter.spec.group].lr, 4);
    for (int64_t i = 0; i < parameter.spec.size; ++i) {
      ASSERT_NEAR(parameter.master.get(i), references[k][static_cast<size_t>(i)].p, tolerance) << k << " " << i;
    }
  }
}

void expect_copies_of_masters(ParameterList& list) {
  for (const auto& parameter : list.parameters()) {
    if (!parameter->spec.has_compute) continue;
    HostTensor rounded(parameter->spec.compute_dtype, {parameter->spec.size});
    for (int64_t i = 0; i < parameter->spec.size; ++i) rounded.set(i, parameter->master.get(i));
    EXPECT_EQ(parameter->compute.bytes(), rounded.bytes());
  }
}

void step(Stream& stream, ParameterList& list, OptimizerState& state, const Schedule& schedule = {}) {
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, schedule, {}, &state).ok());
  ASSERT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), kGroups, &state).ok());
}

TEST(Adamw, FollowsTheFormulasInDoubleForAThousandSteps) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list({{1}, {63, DType::kF16, DType::kF16, true, 1}, {300, DType::kBF16}, {2, DType::kF32}});
  auto references = start_of(list);
  OptimizerState state;
  state.grad_factor = 0.25f;
  const Schedule schedule = {ScheduleKind::kCosine, 0, 900, 0.1};
  for (uint32_t t = 1; t <= 1000; ++t) {
    list.draw_gradients(t, -1, 2);
    step(stream, list, state, schedule);
    follow(list, state, references);
  }
  EXPECT_EQ(state.step, 1000);
  expect_close(list, references, 1000);
  expect_copies_of_masters(list);
  EXPECT_TRUE(list.guards_hold());
}

// The additional error of a BF16 moment: each step rounds the first moment by at most 2^-8 of itself, that error decays
// at a rate of 1 - beta1, and the step is at most 3 lr.
double bound_of_bf16_moment(int64_t steps, const AdamwGroup& group) {
  return static_cast<double>(steps) * 3 * group.lr * 0x1p-8 / (1 - group.beta1);
}

TEST(Adamw, FollowsTheFormulasWithABf16FirstMoment) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list({{300, DType::kBF16, DType::kBF16, true, 0, DType::kBF16},
                      {63, DType::kF16, DType::kF16, true, 1, DType::kBF16}});
  auto references = start_of(list);
  OptimizerState state;
  for (uint32_t t = 1; t <= 1000; ++t) {
    list.draw_gradients(t, -1, 2);
    step(stream, list, state);
    follow(list, state, references);
  }
  double largest_gap = 0;
  for (size_t k = 0; k < references.size(); ++k) {
    const Streams& parameter = *list.parameters()[k];
    const AdamwGroup& group = kGroups[parameter.spec.group];
    const double tolerance = bound(1000, group.lr, 4) + bound_of_bf16_moment(1000, group);
    for (int64_t i = 0; i < parameter.spec.size; ++i) {
      const double gap = std::fabs(parameter.master.get(i) - references[k][static_cast<size_t>(i)].p);
      ASSERT_LE(gap, tolerance) << k << " " << i;
      largest_gap = std::max(largest_gap, gap);
    }
  }
  EXPECT_GT(largest_gap, 1e-5);  // with FP32 moments the gap would be smaller, so these moments were rounded
  expect_copies_of_masters(list);
  EXPECT_TRUE(list.guards_hold());
}

TEST(Adamw, IsTheSameForEveryDtypeSizeAndInstructionSet) {
  for_each_instruction_set([] {
    ThreadPool pool(2);
    cpu::CpuStream stream(pool);
    ParameterList list(mixed_parameters());
    auto references = start_of(list);
    OptimizerState state;
    for (uint32_t t = 1; t <= 3; ++t) {
      list.draw_gradients(t, -1, 1);
      step(stream, list, state);
      follow(list, state, references);
    }
    expect_close(list, references, 3);
    expect_copies_of_masters(list);
    EXPECT_TRUE(list.guards_hold());
  });
}

TEST(Adamw, IsRightInEveryTailLength) {
  for_each_instruction_set([] {
    ThreadPool pool(1);
    cpu::CpuStream stream(pool);
    for (int64_t size = 0; size < 64; ++size) {
      ParameterList list({{size, DType::kBF16}});
      auto references = start_of(list);
      OptimizerState state;
      list.draw_gradients(1, -1, 1);
      step(stream, list, state);
      follow(list, state, references);
      expect_close(list, references, 1);
      expect_copies_of_masters(list);
      EXPECT_TRUE(list.guards_hold());
    }
  });
}

std::vector<std::byte> bytes_after_steps(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ParameterList list(mixed_parameters());
  OptimizerState state;
  for (uint32_t t = 1; t <= 3; ++t) {
    list.draw_gradients(t, -1, 1);
    step(stream, list, state);
  }
  return list.bytes();
}

TEST(Adamw, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto one = bytes_after_steps(1);
  EXPECT_EQ(bytes_after_steps(2), one);
  EXPECT_EQ(bytes_after_steps(7), one);
}

// Stricter than N12: nothing in the formula is contracted or reordered, so all instruction sets agree bitwise.
TEST(Adamw, GivesTheSameBitsOnEveryInstructionSet) {
  const auto chosen = bytes_after_steps(1);
  for_each_instruction_set([&] { EXPECT_EQ(bytes_after_steps(1), chosen); });
}

// N1
TEST(Adamw, TouchesNothingWhereTheGradientsWereNotFinite) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list(mixed_parameters());
  list.draw_gradients(1, -1, 1);
  const auto before = list.bytes();
  OptimizerState state;
  state.found_inf = 1;
  step(stream, list, state);
  EXPECT_EQ(list.bytes(), before);
  EXPECT_EQ(state.step, 0);
}

// N8: an update far below half an ulp of BF16 still has an effect, because the master accumulates it.
TEST(Adamw, GathersUpdatesThatA16BitWeightWouldLose) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  const AdamwGroup group = {1e-4, 0.9, 0.999, 1e-8, 0};
  ParameterList list(std::vector<ParameterSpec>{{1}});
  Streams& parameter = *list.parameters()[0];
  parameter.master.set(0, 1.0);
  parameter.grad.set(0, 1.0);
  OptimizerState state;
  for (int t = 0; t < 100; ++t) {
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    ASSERT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), &group, &state).ok());
  }
  EXPECT_NEAR(parameter.master.get(0), 0.99, 1e-5);
  EXPECT_EQ(parameter.compute.get(0), 0.98828125);
}

}  // namespace
}  // namespace halftone
