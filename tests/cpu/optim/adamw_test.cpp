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

void step(Stream& stream, ParameterList& list, OptimizerState& state, const Schedule& schedule = {}) {
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, schedule, {}, &state).ok());
  ASSERT_TRUE(cpu::kOptimKernels.adamw(stream, list.tensors(), kGroups, &state).ok());
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

}  // namespace
}  // namespace halftone
