#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// The formulas of torch.optim.SGD in double, written independently of the kernel.
struct Reference {
  double p, buffer = 0;
  void update(const SgdGroup& group, double lr_factor, double grad, bool first) {
    double g = grad + group.weight_decay * p;
    if (group.momentum != 0) {
      buffer = first ? g : group.momentum * buffer + (1 - group.dampening) * g;
      g = group.nesterov != 0 ? g + group.momentum * buffer : buffer;
    }
    p -= group.lr * lr_factor * g;
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

void run(Stream& stream, ParameterList& list, const SgdGroup* groups, int steps,
         std::vector<std::vector<Reference>>* references = nullptr) {
  OptimizerState state;
  state.grad_factor = 0.5f;
  for (int t = 1; t <= steps; ++t) {
    list.draw_gradients(static_cast<uint32_t>(t), -1, 1);
    ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
    ASSERT_TRUE(cpu::kOptimKernels.sgd(stream, list.tensors(), groups, &state).ok());
    if (references == nullptr) continue;
    for (size_t k = 0; k < references->size(); ++k) {
      const Streams& parameter = *list.parameters()[k];
      for (int64_t i = 0; i < parameter.spec.size; ++i) {
        (*references)[k][static_cast<size_t>(i)].update(groups[parameter.spec.group], 1.0, 0.5 * parameter.grad.get(i),
                                                        t == 1);
      }
    }
  }
}

// Each step rounds the master once (2^-24 of at most `largest`) and the update at most six times, including factors. An
// error in the buffer lasts 1 / (1 - momentum) = 10 steps.
double bound(int64_t steps, double lr, double largest) {
  return static_cast<double>(steps) * 0x1p-24 * (largest + 6 * 10 * lr * 10);
}

void expect_close(ParameterList& list, const SgdGroup* groups, const std::vector<std::vector<Reference>>& references,
                  int64_t steps) {
  for (size_t k = 0; k < references.size(); ++k) {
    const Streams& parameter = *list.parameters()[k];
    const double tolerance = bound(steps, groups[parameter.spec.group].lr, 4);
    for (int64_t i = 0; i < parameter.spec.size; ++i) {
      ASSERT_NEAR(parameter.master.get(i), references[k][static_cast<size_t>(i)].p, tolerance) << k << " " << i;
    }
  }
  EXPECT_TRUE(list.guards_hold());
}

struct SgdCase {
  const char* name;
  SgdGroup group;
  bool has_moments;
};

const SgdCase kCases[] = {
    {"plain", {0.01, 0, 0, 0, 0, 0}, false},        {"decay", {0.01, 0, 0, 0.1, 0, 0}, false},
    {"momentum", {0.01, 0.9, 0, 0.01, 0, 0}, true}, {"dampening", {0.01, 0.9, 0.5, 0.01, 0, 0}, true},
    {"nesterov", {0.01, 0.9, 0, 0.01, 1, 0}, true},
};

TEST(Sgd, IsTheSameForEveryDtypeSizeAndInstructionSet) {
  for (const SgdCase& test : kCases) {
    SCOPED_TRACE(test.name);
    const SgdGroup groups[] = {test.group, test.group};
    for_each_instruction_set([&] {
      ThreadPool pool(2);
      cpu::CpuStream stream(pool);
      ParameterList list(mixed_parameters(), test.has_moments);
      auto references = start_of(list);
      run(stream, list, groups, 3, &references);
      expect_close(list, groups, references, 3);
      expect_copies_of_masters(list);
    });
  }
}

TEST(Sgd, DoesNotReadTheBufferInTheFirstStep) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  ParameterList clean(std::vector<ParameterSpec>{{40}});
  ParameterList dirty(std::vector<ParameterSpec>{{40}});
  for (int64_t i = 0; i < 40; ++i) dirty.parameters()[0]->moment1.set(i, NAN);
  run(stream, clean, &kCases[3].group, 2);
  run(stream, dirty, &kCases[3].group, 2);
  EXPECT_EQ(dirty.bytes(), clean.bytes());
}

std::vector<std::byte> bytes_after_steps(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  const SgdGroup groups[] = {kCases[2].group, kCases[4].group};
  ParameterList list(mixed_parameters());
  run(stream, list, groups, 3);
  return list.bytes();
}

TEST(Sgd, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto one = bytes_after_steps(1);
  EXPECT_EQ(bytes_after_steps(2), one);
  EXPECT_EQ(bytes_after_steps(7), one);
}

TEST(Sgd, TouchesNothingWhereTheGradientsWereNotFinite) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list(mixed_parameters());
  list.draw_gradients(1, -1, 1);
  const auto before = list.bytes();
  const SgdGroup groups[] = {kCases[2].group, kCases[4].group};
  OptimizerState state;
  state.found_inf = 1;
  state.step = 4;
  ASSERT_TRUE(cpu::kOptimKernels.sgd(stream, list.tensors(), groups, &state).ok());
  EXPECT_EQ(list.bytes(), before);
}

}  // namespace
}  // namespace halftone
