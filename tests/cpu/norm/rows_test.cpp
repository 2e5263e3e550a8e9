#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

DType compute_of(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// One normalisation with all its inputs and outputs.
struct Case {
  Case(RowNorm row_norm, DType dtype, const Shape& shape, const Shape& strides, bool affine = true)
      : norm(row_norm),
        length(numel(shape) / row_norm.rows),
        channels(length / row_norm.spatial * row_norm.groups),
        has_affine(affine),
        x(dtype, shape, strides),
        weight(compute_of(dtype), {channels}),
        bias(compute_of(dtype), {channels}),
        out(dtype, shape),
        mean(DType::kF64, {norm.rows}),
        variance(DType::kF64, {norm.rows}),
        grad(dtype, shape),
        grad_input(dtype, shape, strides) {
    x.fill_uniform(-2, 3, 1);
    weight.fill_uniform(-1, 1, 2);
    bias.fill_uniform(-1, 1, 3);
    grad.fill_uniform(-1, 1, 4);
  }

  void forward(int threads = 1) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    const NormAffine affine = {has_affine ? weight.view() : View{}, has_affine ? bias.view() : View{}};
    ASSERT_TRUE(
        cpu::kNormKernels.row_norm(stream, norm, {x.view()}, affine, {mean.view(), variance.view()}, out.view()).ok());
  }

  void backward(int64_t pieces, int threads = 1) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    weight_sums.emplace(compute_of(x.view().dtype), Shape{pieces, channels});
    bias_sums.emplace(compute_of(x.view().dtype), Shape{pieces, channels});
    const NormSaved saved = {
        grad.view(), x.view(), has_affine ? weight.view() : View{}, {mean.view(), variance.view()}};
    const NormGrads grads = {grad_input.view(), weight_sums->view(), bias_sums->view(), pieces};
    ASSERT_TRUE(cpu::kNormKernels.row_norm_backward(stream, norm, saved, grads).ok());
  }

  int64_t channel(int64_t row, int64_t i) const {
    return row % norm.groups * (length / norm.spatial) + i / norm.spatial;
  }
  double weight_at(int64_t channel) const { return has_affine ? weight.get(channel) : 1; }
  double bias_at(int64_t channel) const { return has_affine ? bias.get(channel) : 0; }

  RowNorm norm;
  int64_t length, channels;
  bool has_affine;
  HostTensor x, weight, bias, out, mean, variance, grad, grad_input;
  std::optional<HostTensor> weight_sums, bias_sums;
};

// The textbook formulas in double.
struct Reference {
  explicit Reference(const Case& c) : weight(c.channels), bias(c.channels) {
    for (int64_t row = 0; row < c.norm.rows; ++row) add_row(c, row);
  }

  void add_row(const Case& c, int64_t row) {
    const int64_t begin = row * c.length;
    const double count = static_cast<double>(c.length);
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < c.length; ++i) mean += c.x.get(begin + i) / count;
    if (c.norm.statistics == RowStatistics::kMeanSquare) mean = 0;
    for (int64_t i = 0; i < c.length; ++i) squares += std::pow(c.x.get(begin + i) - mean, 2) / count;
    const bool is_given = c.norm.statistics == RowStatistics::kGiven;
    if (is_given) {
      mean = c.mean.get(row);
      squares = c.variance.get(row);
    }
    const double rstd = 1 / std::sqrt(squares + c.norm.epsilon);
    double grad_mean = 0, projection = 0;
    for (int64_t i = 0; i < c.length; ++i) {
      const int64_t channel = c.channel(row, i);
      const double normal = (c.x.get(begin + i) - mean) * rstd, grad = c.grad.get(begin + i);
      out.push_back(normal * c.weight_at(channel) + c.bias_at(channel));
      weight[static_cast<size_t>(channel)] += grad * normal;
      bias[static_cast<size_t>(channel)] += grad;
      if (is_given) continue;
      if (c.norm.statistics == RowStatistics::kMeanAndVariance) grad_mean += grad * c.weight_at(channel) / count;
      projection += grad * c.weight_at(channel) * normal / count;
    }
    for (int64_t i = 0; i < c.length; ++i) {
      const double normal = (c.x.get(begin + i) - mean) * rstd;
      const double grad = c.grad.get(begin + i) * c.weight_at(c.channel(row, i));
      grad_input.push_back(rstd * (grad - grad_mean - normal * projection));
    }
  }

  std::vector<double> out, grad_input, weight, bias;
};

void expect_close(const char* what, const HostTensor& actual, const std::vector<double>& expected, double growth) {
  ASSERT_EQ(actual.numel(), static_cast<int64_t>(expected.size())) << what;
  for (int64_t i = 0; i < actual.numel(); ++i) {
    const double value = expected[static_cast<size_t>(i)];
    ASSERT_TRUE(is_close(actual.get(i), value, actual.view().dtype, growth))
        << what << " " << i << ": " << actual.get(i) << " for " << value;
  }
  EXPECT_TRUE(actual.guards_hold()) << what;
}

// Adds the sums of all pieces and compares them with the reference; each is a sum of `terms` numbers of about 1.
void expect_sums(const char* what, const HostTensor& sums, const std::vector<double>& expected, double terms) {
  const int64_t channels = static_cast<int64_t>(expected.size());
  for (int64_t channel = 0; channel < channels; ++channel) {
    double total = 0;
    for (int64_t piece = 0; piece < sums.view().shape[0]; ++piece) total += sums.get(piece * channels + channel);
    ASSERT_TRUE(is_close(total, expected[static_cast<size_t>(channel)], sums.view().dtype, 4 + 2 * std::sqrt(terms)))
        << what << " " << channel << ": " << total << " for " << expected[static_cast<size_t>(channel)];
  }
  EXPECT_TRUE(sums.guards_hold()) << what;
}

void check(Case c, int64_t pieces = 3) {
  c.forward();
  c.backward(pieces);
  const Reference expected(c);
  expect_close("out", c.out, expected.out, 8);
  expect_close("grad_input", c.grad_input, expected.grad_input, 16);
  const double terms = static_cast<double>(c.x.numel()) / static_cast<double>(c.channels);
  expect_sums("weight", *c.weight_sums, expected.weight, terms);
  expect_sums("bias", *c.bias_sums, expected.bias, terms);
  EXPECT_TRUE(c.mean.guards_hold() && c.variance.guards_hold());
}

constexpr RowNorm layer(int64_t rows) { return {.epsilon = 1e-5, .rows = rows}; }
constexpr RowNorm rms(int64_t rows) {
  return {.statistics = RowStatistics::kMeanSquare, .epsilon = 1e-5, .rows = rows};
}
constexpr RowNorm groups_of(int64_t n, int64_t groups, int64_t spatial) {
  return {.epsilon = 1e-5, .rows = n * groups, .groups = groups, .spatial = spatial};
}

TEST(RowNorm, FollowsTheReferenceForEveryLength) {
  for_each_instruction_set([] {
    for (int64_t length = 1; length < 70; ++length) {
      check({layer(3), DType::kF32, {3, length}, {length, 1}});
      check({rms(3), DType::kF32, {3, length}, {length, 1}});
    }
  });
}

TEST(RowNorm, FollowsTheReferenceAroundATileAndForManyRows) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const int64_t length : {255, 256, 257, 511, 512, 513, 3000}) {
        check({layer(2), dtype, {2, length}, {length, 1}});
        check({rms(2), dtype, {2, length}, {length, 1}}, 1);
      }
      check({layer(5000), dtype, {5000, 10}, {10, 1}}, 20);
      check({groups_of(2, 3, 700), dtype, {2, 6, 700}, {4200, 700, 1}});
      check({groups_of(300, 2, 4), dtype, {300, 6, 4}, {24, 4, 1}}, 10);
    }
  });
}

// Batch normalisation of [n, channels]: a row is a column in memory.
TEST(RowNorm, TakesRowsThatAreColumnsOfMemory) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const RowStatistics statistics : {RowStatistics::kMeanAndVariance, RowStatistics::kGiven}) {
        for (const bool affine : {true, false}) {
          for (const Shape& strides : {Shape{1, 70}, Shape{2, 190}}) {
            Case c({statistics, 1e-5, 70, 70, 33}, dtype, {70, 33}, strides, affine);
            c.mean.fill_uniform(-1, 1, 6);
            c.variance.fill_uniform(0.5, 2, 7);
            check(std::move(c));
          }
        }
      }
      // Few channels with many elements each, so that threads share a channel.
      check({{RowStatistics::kMeanAndVariance, 1e-5, 20, 20, 3000}, dtype, {20, 3000}, {1, 20}}, 1);
    }
  });
}

TEST(RowNorm, KeepsItsDigitsInColumnsFarFromZero) {
  for_each_instruction_set([] {
    for (const int64_t length : {7, 256, 4096}) {
      Case c({RowStatistics::kMeanAndVariance, 1e-5, 20, 20, length}, DType::kF32, {20, length}, {1, 20});
      for (int64_t i = 0; i < c.x.numel(); ++i) c.x.set(i, 1e6 + static_cast<double>(i * 7919 % 17) / 16.0);
      check(std::move(c), 1);
    }
  });
}

TEST(RowNorm, IsNanInColumnsWithInfinityOrNanAlone) {
  for_each_instruction_set([] {
    for (const int64_t length : {5, 3000}) {
      Case c({RowStatistics::kMeanAndVariance, 1e-5, 20, 20, length}, DType::kF32, {20, length}, {1, 20});
      c.x.set(2, INFINITY);
      c.x.set(length + 1, NAN);
      c.forward();
      for (int64_t i = 0; i < c.out.numel(); ++i) ASSERT_EQ(std::isnan(c.out.get(i)), i < 2 * length) << i;
    }
  });
}

TEST(RowNorm, GivesTheSameBitsInColumnsOnAnyNumberOfThreads) {
  for_each_instruction_set([] {
    for (const Shape& shape : {Shape{300, 200}, Shape{20, 5000}}) {
      const RowNorm norm = {RowStatistics::kMeanAndVariance, 1e-5, shape[0], shape[0], shape[1]};
      Case one(norm, DType::kF32, shape, {1, shape[0]}), seven(norm, DType::kF32, shape, {1, shape[0]});
      one.forward(1);
      one.backward(5, 1);
      seven.forward(7);
      seven.backward(5, 7);
      EXPECT_EQ(seven.out.bytes(), one.out.bytes());
      EXPECT_EQ(seven.grad_input.bytes(), one.grad_input.bytes());
      EXPECT_EQ(seven.weight_sums->bytes(), one.weight_sums->bytes());
      EXPECT_EQ(seven.bias_sums->bytes(), one.bias_sums->bytes());
    }
  });
}

// N9
TEST(RowNorm, AConstantRowAndARowOfOneElementGiveTheBias) {
  for_each_instruction_set([] {
    for (const int64_t length : {1, 3, 100, 768}) {
      for (const double value : {0.0, 0.1, -3e4}) {
        for (const DType dtype : kDtypes) {
          Case c(layer(2), dtype, {2, length}, {length, 1});
          for (int64_t i = 0; i < c.x.numel(); ++i) c.x.set(i, value);
          c.forward();
          c.backward(1);
          for (int64_t i = 0; i < c.out.numel(); ++i) {
            ASSERT_TRUE(is_close(c.out.get(i), c.bias.get(i % length), dtype)) << value << " " << c.out.get(i);
            ASSERT_TRUE(std::isfinite(c.grad_input.get(i)));
          }
        }
      }
    }
  });
}

// N9: E[x^2] - E[x]^2 would lose all digits, and an FP32 mean would be wrong by up to 1/32.
TEST(RowNorm, KeepsItsDigitsAMillionDeviationsFromZero) {
  for_each_instruction_set([] {
    for (const int64_t length : {7, 256, 1000, 4096}) {
      Case c(layer(2), DType::kF32, {2, length}, {length, 1});
      for (int64_t i = 0; i < c.x.numel(); ++i) c.x.set(i, 1e6 + static_cast<double>(i * 7919 % 17) / 16.0);
      check(std::move(c), 1);
    }
  });
}

TEST(RowNorm, IsNanInRowsWithInfinityOrNanAlone) {
  for_each_instruction_set([] {
    for (const int64_t length : {5, 600}) {
      Case c(layer(3), DType::kF32, {3, length}, {length, 1});
      c.x.set(2, INFINITY);
      c.x.set(length + 1, NAN);
      c.forward();
      for (int64_t i = 0; i < c.out.numel(); ++i) EXPECT_EQ(std::isnan(c.out.get(i)), i < 2 * length) << i;
    }
  });
}

TEST(RowNorm, WritesAnotherDtypeThanItReads) {
  Case c(layer(4), DType::kBF16, {4, 33}, {33, 1});
  HostTensor wide(DType::kF32, {4, 33});
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  ASSERT_TRUE(cpu::kNormKernels
                  .row_norm(stream, c.norm, {c.x.view()}, {c.weight.view(), c.bias.view()},
                            {c.mean.view(), c.variance.view()}, wide.view())
                  .ok());
  expect_close("out", wide, Reference(c).out, 8);
}

TEST(RowNorm, LeavesGradientsThatNobodyWants) {
  Case c(layer(4), DType::kF32, {4, 33}, {33, 1});
  HostTensor sums(DType::kF32, {1, 33});
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  c.forward();
  const NormSaved saved = {c.grad.view(), c.x.view(), {}, {c.mean.view(), c.variance.view()}};
  ASSERT_TRUE(cpu::kNormKernels.row_norm_backward(stream, c.norm, saved, {{}, {}, sums.view(), 1}).ok());
  expect_sums("bias", sums, Reference(c).bias, 4);
}

TEST(RowNorm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for_each_instruction_set([] {
    for (const RowNorm& norm : {layer(3000), groups_of(1500, 2, 3)}) {
      Case one(norm, DType::kF32, {3000, 18}, {18, 1}), seven(norm, DType::kF32, {3000, 18}, {18, 1});
      one.forward(1);
      one.backward(12, 1);
      seven.forward(7);
      seven.backward(12, 7);
      EXPECT_EQ(seven.out.bytes(), one.out.bytes());
      EXPECT_EQ(seven.grad_input.bytes(), one.grad_input.bytes());
      EXPECT_EQ(seven.weight_sums->bytes(), one.weight_sums->bytes());
      EXPECT_EQ(seven.bias_sums->bytes(), one.bias_sums->bytes());
    }
  });
}

}  // namespace
}  // namespace halftone
