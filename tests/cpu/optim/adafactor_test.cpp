#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "cpu/optim/parameters.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// The formulas of torch.optim.Adafactor in double, written independently of the kernel: with the running means of whole
// matrices, in the order of PyTorch's source.
class Reference {
 public:
  explicit Reference(const Streams& parameter)
      : rows_(parameter.spec.rows), columns_(parameter.spec.columns), size_(parameter.spec.size) {
    for (int64_t i = 0; i < size_; ++i) weights.push_back(parameter.master.get(i));
    const int64_t matrices = size_ == 0 || columns_ == 0 ? 0 : size_ / (rows_ * columns_);
    row_var_.resize(static_cast<size_t>(matrices * rows_));
    col_var_.resize(static_cast<size_t>(matrices * columns_));
    variance_.resize(columns_ == 0 ? static_cast<size_t>(size_) : 0);
  }

  void update(const AdafactorGroup& group, const std::vector<double>& grad, int step) {
    const double one_minus_beta2 = std::pow(step, group.beta2_decay);
    const double rho = std::min(group.lr, 1 / std::sqrt(step));
    const double alpha = std::max(group.epsilon2, rms(weights)) * rho;
    for (double& weight : weights) weight *= 1 - group.lr * group.weight_decay;
    std::vector<double> update =
        columns_ > 0 ? factored_variance(group, grad, one_minus_beta2) : elements_variance(grad, one_minus_beta2);
    for (size_t i = 0; i < update.size(); ++i) {
      update[i] = grad[i] / std::sqrt(std::max(update[i], group.epsilon1 * group.epsilon1));
    }
    const double denominator = std::max(1.0, rms(update) / group.clip_threshold);
    for (size_t i = 0; i < update.size(); ++i) weights[i] -= alpha / denominator * update[i];
  }

  std::vector<double> weights;

 private:
  static double rms(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
  }

  std::vector<double> elements_variance(const std::vector<double>& grad, double share) {
    for (size_t i = 0; i < grad.size(); ++i) variance_[i] += share * (grad[i] * grad[i] - variance_[i]);
    return variance_;
  }

  std::vector<double> factored_variance(const AdafactorGroup& group, const std::vector<double>& grad, double share) {
    std::vector<double> row_mean(row_var_.size()), col_mean(col_var_.size()), result(grad.size());
    for (int64_t i = 0; i < size_; ++i) {
      const double square = grad[static_cast<size_t>(i)] * grad[static_cast<size_t>(i)];
      row_mean[row_of(i)] += square / static_cast<double>(columns_);
      col_mean[column_of(i)] += square / static_cast<double>(rows_);
    }
    for (size_t i = 0; i < row_var_.size(); ++i) row_var_[i] += share * (row_mean[i] - row_var_[i]);
    for (size_t i = 0; i < col_var_.size(); ++i) col_var_[i] += share * (col_mean[i] - col_var_[i]);
    for (int64_t i = 0; i < size_; ++i) {
      double mean = 0;
      const size_t first = row_of(i) / static_cast<size_t>(rows_) * static_cast<size_t>(rows_);
      for (size_t k = 0; k < static_cast<size_t>(rows_); ++k) mean += row_var_[first + k] / static_cast<double>(rows_);
      result[static_cast<size_t>(i)] = row_var_[row_of(i)] * col_var_[column_of(i)] / std::max(mean, group.epsilon1);
    }
    return result;
  }

  size_t row_of(int64_t i) const { return static_cast<size_t>(i / columns_); }
  size_t column_of(int64_t i) const { return static_cast<size_t>(i / (rows_ * columns_) * columns_ + i % columns_); }

  int64_t rows_, columns_, size_;
  std::vector<double> row_var_, col_var_, variance_;
};

ParameterSpec matrices(int64_t count, int64_t rows, int64_t columns, DType grad = DType::kF32, int32_t group = 0) {
  ParameterSpec spec{count * rows * columns, grad, DType::kBF16, true, group};
  spec.rows = rows;
  spec.columns = columns;
  spec.has_moment3 = true;
  return spec;
}

// Vectors, and matrices whose rows and columns are no multiples of a tile (256); the largest ones have several chunks.
std::vector<ParameterSpec> shapes() {
  return {{1},
          {300, DType::kBF16},
          {0},
          matrices(1, 5, 7),
          matrices(1, 1, 600, DType::kF16, 1),
          matrices(1, 600, 1),
          matrices(1, 0, 4),
          matrices(1, 4, 0),
          matrices(1, 37, 450, DType::kBF16, 1),
          matrices(3, 20, 33),
          matrices(64, 3, 3),
          matrices(1, 300, 201),
          {2 * kChunkSize + 5}};
}

constexpr AdafactorGroup kDefaults = {1e-2, -0.8, FLT_EPSILON, 1e-3, 1.0, 0.0};
constexpr AdafactorGroup kQuick = {5e-2, -0.5, 1e-2, 1e-2, 2.0, 0.1};
constexpr AdafactorGroup kGroups[] = {kDefaults, kQuick};

// Gradients whose size depends on row and column, so that a factored variance differs from a constant.
void draw_gradients(ParameterList& list, int step) {
  list.draw_gradients(static_cast<uint32_t>(step), -1, 1);
  for (const auto& parameter : list.parameters()) {
    for (int64_t i = 0; i < parameter->spec.size; ++i) {
      const int64_t columns = std::max(parameter->spec.columns, int64_t{1});
      const int size = static_cast<int>(i / columns % 5 + i % columns % 3);
      parameter->grad.set(i, std::ldexp(parameter->grad.get(i), -size));
    }
  }
}

void step(Stream& stream, ParameterList& list, const AdafactorGroup* groups, OptimizerState& state) {
  std::vector<double> partials(static_cast<size_t>(list.tensors().chunk_count));
  ASSERT_TRUE(cpu::kOptimKernels.begin_step(stream, {}, {}, &state).ok());
  ASSERT_TRUE(cpu::kOptimKernels.adafactor(stream, list.tensors(), groups, partials.data(), &state).ok());
}

double weight(const Streams& parameter, int64_t i) {
  return parameter.spec.has_master ? parameter.master.get(i) : parameter.compute.get(i);
}

// Compares each step; `tolerance` is of a weight, for each step that was taken.
void expect_formulas(ThreadPool& pool, const std::vector<ParameterSpec>& specs, int steps, double tolerance) {
  cpu::CpuStream stream(pool);
  ParameterList list(specs);
  OptimizerState state;
  std::vector<Reference> references;
  for (const auto& parameter : list.parameters()) {
    if (parameter->spec.splits_master) parameter->join();
    references.emplace_back(*parameter);
    for (int64_t i = 0; i < parameter->spec.size; ++i) {
      references.back().weights[static_cast<size_t>(i)] = weight(*parameter, i);
    }
  }
  for (int t = 1; t <= steps; ++t) {
    draw_gradients(list, t);
    state.grad_factor = 0.5f;
    state.clip_value = 0.375f;
    step(stream, list, kGroups, state);
    for (size_t k = 0; k < references.size(); ++k) {
      Streams& parameter = *list.parameters()[k];
      std::vector<double> grad;
      for (int64_t i = 0; i < parameter.spec.size; ++i) {
        grad.push_back(std::clamp(0.5 * parameter.grad.get(i), -0.375, 0.375));
      }
      if (!grad.empty()) references[k].update(kGroups[parameter.spec.group], grad, t);
      if (parameter.spec.splits_master) parameter.join();
      for (int64_t i = 0; i < parameter.spec.size; ++i) {
        ASSERT_NEAR(weight(parameter, i), references[k].weights[static_cast<size_t>(i)], tolerance * t)
            << "parameter " << k << ", element " << i << ", step " << t;
      }
    }
  }
  if (specs[0].has_master && !specs[0].splits_master) expect_copies_of_masters(list);
  EXPECT_TRUE(list.guards_hold());
}

// A step rounds a weight within 2 once, and its change of at most 0.1 about ten times.
constexpr double kFp32 = 0x1p-23 + 0.1 * 10 * 0x1p-24;

TEST(Adafactor, FollowsTheFormulasInDoubleOnEveryInstructionSet) {
  for_each_instruction_set([&] {
    ThreadPool pool(2);
    expect_formulas(pool, shapes(), 4, kFp32);
  });
}

TEST(Adafactor, FollowsTheFormulasForAHundredSteps) {
  ThreadPool pool(2);
  expect_formulas(pool, {{300}, matrices(1, 9, 30), matrices(2, 17, 5, DType::kF32, 1)}, 100, kFp32);
}

TEST(Adafactor, FollowsTheFormulasWithSplitWeights) {
  ThreadPool pool(2);
  std::vector<ParameterSpec> specs = shapes();
  for (ParameterSpec& spec : specs) spec.splits_master = true;
  expect_formulas(pool, specs, 4, kFp32);
}

// Weights without a master are rounded to a neighbour at random: by less than a step of BF16 below 2, 2^-7. The next
// step uses the rounded ones, whose root mean square is off by as much.
TEST(Adafactor, FollowsTheFormulasWithoutAMaster) {
  ThreadPool pool(2);
  std::vector<ParameterSpec> specs = shapes();
  for (ParameterSpec& spec : specs) spec.has_master = false;
  expect_formulas(pool, specs, 4, 0x1p-7 * 1.1);
}

std::vector<std::byte> bytes_after_steps(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  ParameterList list(shapes());
  OptimizerState state;
  for (int t = 1; t <= 3; ++t) {
    draw_gradients(list, t);
    step(stream, list, kGroups, state);
  }
  return list.bytes();
}

TEST(Adafactor, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto one = bytes_after_steps(1);
  EXPECT_EQ(bytes_after_steps(2), one);
  EXPECT_EQ(bytes_after_steps(7), one);
}

TEST(Adafactor, TouchesNothingWhereTheGradientsWereNotFinite) {
  ThreadPool pool(2);
  cpu::CpuStream stream(pool);
  ParameterList list(shapes());
  draw_gradients(list, 1);
  const auto before = list.bytes();
  OptimizerState state;
  state.found_inf = 1;
  step(stream, list, kGroups, state);
  EXPECT_EQ(list.bytes(), before);
}

// A gradient of 0, from the first step on: 0 / 0 nowhere, also where the square of epsilon1 is 0 in FP32.
TEST(Adafactor, AGradientOfZeroMovesNothing) {
  for (const double epsilon1 : {double{FLT_EPSILON}, 1e-30, 1e-60}) {
    ThreadPool pool(1);
    cpu::CpuStream stream(pool);
    ParameterList list({{40}, matrices(1, 6, 5)});
    const AdafactorGroup group = {1e-2, -0.8, epsilon1, 1e-3, 1.0, 0.0};
    for (const auto& parameter : list.parameters()) {
      for (int64_t i = 0; i < parameter->spec.size; ++i) {
        parameter->grad.set(i, 0);
        parameter->master.set(i, 0.5);
      }
    }
    OptimizerState state;
    step(stream, list, &group, state);
    for (const auto& parameter : list.parameters()) {
      for (int64_t i = 0; i < parameter->spec.size; ++i) ASSERT_EQ(parameter->master.get(i), 0.5) << epsilon1;
    }
  }
}

// Without a scaler a NaN reaches the weights. In a matrix it spreads over its row, its column and the mean of the rows.
TEST(Adafactor, ANanGradientReachesTheWeights) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  ParameterList list({{40}, matrices(1, 6, 5)});
  for (const auto& parameter : list.parameters()) {
    for (int64_t i = 0; i < parameter->spec.size; ++i) parameter->grad.set(i, i == 7 ? NAN : 1);
  }
  OptimizerState state;
  step(stream, list, kGroups, state);
  for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(std::isnan(list.parameters()[0]->master.get(i)), i == 7) << i;
  EXPECT_TRUE(std::isnan(list.parameters()[1]->master.get(7)));
}

}  // namespace
}  // namespace halftone
