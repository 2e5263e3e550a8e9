// Softmax, class losses and normalisation on the CUDA device beside the cases of the operations: rows of every length
// and alignment, long rows, columns, and faults in the targets; compared with the CPU's.
#include <string>

#include "both_devices.h"

namespace halftone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class NormsOnCuda : public BothDevicesTest {
 protected:
  using NormCall = std::function<Status(const NormKernels&, Stream&, const std::vector<View>&)>;

  void expect_same(const std::vector<HostTensor>& tensors, const NormCall& call, double growth = 16) {
    expect_same_on_both(
        tensors,
        [&](const Kernels& kernels, Stream& stream, const std::vector<View>& views) {
          return call(kernels.norm, stream, views);
        },
        growth);
  }
};

// ---- Softmax

// Rows that a warp and a block keep, in tiles and one by one, those that are too long, and columns.
struct Form {
  Shape shape, strides;
  int dim;
};
std::vector<Form> softmax_forms() {
  return {{{3, 1}, {1, 1}, 1},       {{5, 64}, {64, 1}, 1},         {{9, 100}, {101, 1}, 1},
          {{2, 1024}, {1024, 1}, 1}, {{2, 1032}, {1032, 1}, 1},     {{2, 2047}, {2047, 1}, 1},
          {{1, 8192}, {8192, 1}, 1}, {{2, 9000}, {9000, 1}, 1},     {{1, 70000}, {70000, 1}, 1},
          {{40, 30}, {30, 1}, 0},    {{2, 5, 30}, {150, 30, 1}, 1}, {{7, 12}, {24, 2}, 1},
          {{2, 3, 16}, {1, 2, 6}, 2}};
}

TEST_F(NormsOnCuda, SoftmaxAndItsGradientAreThoseOfTheCpu) {
  for (const Form& form : softmax_forms()) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
      const std::vector<HostTensor> tensors = {filled(dtype, form.shape, form.strides, -20, 20),
                                               HostTensor(dtype, form.shape), filled(dtype, form.shape),
                                               HostTensor(dtype, form.shape, form.strides)};
      expect_same(tensors, [&](const NormKernels& k, Stream& s, const std::vector<View>& v) {
        const Status status = k.softmax(s, v[0], form.dim, v[1]);
        return status.ok() ? k.softmax_backward(s, v[2], v[1], form.dim, v[3]) : status;
      });
      expect_same(tensors, [&](const NormKernels& k, Stream& s, const std::vector<View>& v) {
        const Status status = k.log_softmax(s, v[0], form.dim, v[1]);
        return status.ok() ? k.log_softmax_backward(s, v[2], v[1], form.dim, v[3]) : status;
      });
      if (HasFailure()) FAIL() << ShapeText(form.shape).text << name_of(dtype);
    }
  }
}

TEST_F(NormsOnCuda, SoftmaxOfInfinitiesAndNanIsThatOfTheCpu) {
  for (const Form& form : {Form{{3, 40}, {40, 1}, 1}, Form{{40, 30}, {30, 1}, 0}, Form{{1, 9000}, {9000, 1}, 1}}) {
    for (const double rest : {1.0, -kInfinity}) {
      for (const double one : {kInfinity, -kInfinity, kNan, 2.0}) {
        HostTensor x(DType::kF32, form.shape);
        for (int64_t i = 0; i < x.numel(); ++i) x.set(i, rest);
        x.set(x.numel() / 2, one);
        expect_same({x, HostTensor(DType::kF32, form.shape), HostTensor(DType::kF32, form.shape)},
                    [&](const NormKernels& k, Stream& s, const std::vector<View>& v) {
                      const Status status = k.softmax(s, v[0], form.dim, v[1]);
                      return status.ok() ? k.log_softmax(s, v[0], form.dim, v[2]) : status;
                    });
        if (HasFailure()) FAIL() << ShapeText(form.shape).text << " of " << rest << " and " << one;
      }
    }
  }
}

// ---- Class losses. The tensors: logits, targets, weights, losses, row weights, normalizers, row gradients, gradient.

std::vector<HostTensor> loss_tensors(int64_t rows, int64_t classes, int64_t row_stride, DType dtype) {
  HostTensor logits(dtype, {rows, classes}, {row_stride, 1}), targets(DType::kI64, {rows}),
      weights(DType::kF32, {classes}), grads(DType::kF32, {rows});
  logits.fill_uniform(-9, 9, 1);
  weights.fill_uniform(0.5, 2, 2);
  grads.fill_uniform(-1, 1, 3);
  for (int64_t i = 0; i < rows; ++i) targets.set(i, i % 4 == 3 ? -100 : static_cast<double>(i * 31 % classes));
  return {logits,
          targets,
          weights,
          HostTensor(DType::kF32, {rows}),
          HostTensor(DType::kF32, {rows}),
          HostTensor(DType::kF32, {rows, 2}),
          grads,
          HostTensor(dtype, {rows, classes}, {row_stride, 1})};
}

ClassTargets targets_of(const std::vector<View>& v, bool has_weights, double smoothing) {
  return {.indices = v[1], .weight = has_weights ? v[2] : View{}, .ignore_index = -100, .label_smoothing = smoothing};
}

TEST_F(NormsOnCuda, ClassLossesAndTheirGradientsAreThoseOfTheCpu) {
  struct Size {
    int64_t rows, classes, row_stride;
  };
  for (const Size& size : {Size{6, 1, 1}, {50, 10, 10}, {5, 4096, 4096}, {3, 20001, 20001}, {2, 300, 307}}) {
    for (const bool has_weights : {false, true}) {
      for (const double smoothing : {0.0, 0.1}) {
        for (const DType dtype : {DType::kF32, DType::kBF16}) {
          const std::vector<HostTensor> tensors = loss_tensors(size.rows, size.classes, size.row_stride, dtype);
          expect_same(tensors, [=](const NormKernels& k, Stream& s, const std::vector<View>& v) {
            const ClassTargets targets = targets_of(v, has_weights, smoothing);
            const Status status = k.cross_entropy(s, v[0], targets, {v[3], v[4], v[5]});
            return status.ok() ? k.cross_entropy_backward(s, v[6], v[0], targets, v[5], v[7]) : status;
          });
          if (smoothing == 0) {
            expect_same(tensors, [=](const NormKernels& k, Stream& s, const std::vector<View>& v) {
              const ClassTargets targets = targets_of(v, has_weights, 0);
              const Status status = k.nll(s, v[0], targets, {v[3], v[4], {}});
              return status.ok() ? k.nll_backward(s, v[6], targets, v[7]) : status;
            });
          }
          if (HasFailure()) FAIL() << size.rows << " rows of " << size.classes << ", " << has_weights << smoothing;
        }
      }
    }
  }
}

TEST_F(NormsOnCuda, ATargetThatIsNoClassIsReported) {
  for (const bool is_backward : {false, true}) {
    for (const bool is_nll : {false, true}) {
      std::vector<HostTensor> tensors = loss_tensors(7, 10, 10, DType::kF32);
      tensors[1].set(5, 10);
      DeviceCopies copies(*cuda_device(context()).device);
      std::vector<View> v;
      for (const HostTensor& tensor : tensors) v.push_back(copies.send(tensor));
      const NormKernels& k = copies.kernels().norm;
      Stream& s = copies.stream();
      const ClassTargets targets = targets_of(v, true, 0.1);
      const ClassLosses losses = {v[3], v[4], v[5]};
      const Status queued = !is_backward
                                ? (is_nll ? k.nll(s, v[0], targets, losses) : k.cross_entropy(s, v[0], targets, losses))
                            : is_nll ? k.nll_backward(s, v[6], targets, v[7])
                                     : k.cross_entropy_backward(s, v[6], v[0], targets, v[5], v[7]);
      ASSERT_TRUE(queued.ok());
      const Status status = s.synchronize();
      EXPECT_EQ(status.code, Code::kInvalidArgument);
      EXPECT_STREQ(status.message, "targets[5]=10 is outside [0, 10)");
      EXPECT_TRUE(copies.fetch().ok());
      for (const HostTensor& tensor : tensors) EXPECT_TRUE(tensor.guards_hold());
    }
  }
}

// ---- Normalisation

// The tensors: x, residual, sum, weight, bias, means, variances, out, grad_output, grad_sum, grad_input, weight sums,
// bias sums.
struct NormCase {
  const char* name;
  RowNorm norm;
  Shape shape, strides;
  int64_t channels;
  int64_t pieces;
};

std::vector<HostTensor> norm_tensors(const NormCase& c, DType dtype, double low) {
  const auto tensor = [&] { return HostTensor(dtype, c.shape, c.strides); };
  HostTensor x = tensor(), residual = tensor(), grad = tensor(), grad_sum = tensor();
  HostTensor weight(DType::kF32, {c.channels}), bias(DType::kF32, {c.channels});
  x.fill_uniform(low, low + 4, 1);
  residual.fill_uniform(-1, 1, 2);
  grad.fill_uniform(-1, 1, 3);
  grad_sum.fill_uniform(-1, 1, 4);
  weight.fill_uniform(0.5, 2, 5);
  bias.fill_uniform(-1, 1, 6);
  HostTensor means(DType::kF64, {c.norm.rows}), variances(DType::kF64, {c.norm.rows});
  means.fill_uniform(1, 3, 7);
  variances.fill_uniform(0.5, 2, 8);
  return {x,
          residual,
          tensor(),
          weight,
          bias,
          means,
          variances,
          tensor(),
          grad,
          grad_sum,
          tensor(),
          HostTensor(DType::kF32, {c.pieces, c.channels}),
          HostTensor(DType::kF32, {c.pieces, c.channels})};
}

std::vector<NormCase> norm_cases() {
  const auto layer = [](RowStatistics statistics, int64_t rows) {
    return RowNorm{.statistics = statistics, .epsilon = 1e-5, .rows = rows};
  };
  const auto batch = [](RowStatistics statistics, int64_t channels, int64_t count) {
    return RowNorm{.statistics = statistics, .epsilon = 1e-5, .rows = channels, .groups = channels, .spatial = count};
  };
  constexpr auto kMean = RowStatistics::kMeanAndVariance;
  constexpr auto kSquare = RowStatistics::kMeanSquare;
  constexpr auto kGiven = RowStatistics::kGiven;
  return {{"rows in tiles", layer(kMean, 20), {20, 64}, {64, 1}, 64, 3},
          {"rows one by one", layer(kMean, 33), {3, 11, 45}, {11 * 45, 45, 1}, 45, 2},
          {"root mean square", layer(kSquare, 600), {600, 48}, {48, 1}, 48, 2},
          {"rows of a block", layer(kMean, 4), {4, 3000}, {3000, 1}, 3000, 1},
          {"rows that are not kept", layer(kMean, 2), {2, 20008}, {20008, 1}, 20008, 1},
          {"rows that are not kept, one by one", layer(kSquare, 2), {2, 17001}, {17001, 1}, 17001, 1},
          {"columns", layer(kMean, 30), {30, 20}, {1, 30}, 20, 2},
          {"one element", layer(kMean, 1), {1}, {1}, 1, 1},
          {"groups", {.epsilon = 1e-5, .rows = 3 * 4, .groups = 4, .spatial = 50}, {3, 12, 50}, {600, 50, 1}, 12, 5},
          {"groups without spatial dimensions",
           {.epsilon = 1e-5, .rows = 9 * 4, .groups = 4, .spatial = 1},
           {9, 20},
           {20, 1},
           20,
           3},
          {"instances", {.epsilon = 1e-5, .rows = 5 * 6, .groups = 6, .spatial = 24}, {5, 6, 24}, {144, 24, 1}, 6, 4},
          {"batch of images", batch(kMean, 5, 4 * 56), {5, 4, 7, 8}, {56, 280, 8, 1}, 5, 2},
          {"batch of rows", batch(kMean, 40, 300), {40, 300}, {1, 40}, 40, 10},
          {"large batch", batch(kMean, 2, 40000), {2, 40000}, {1, 2}, 2, 1},
          {"one channel", batch(kMean, 1, 500), {1, 5, 100}, {100, 100, 1}, 1, 1},
          {"given statistics", batch(kGiven, 6, 60), {6, 3, 20}, {20, 120, 1}, 6, 2}};
}

Status forward(const NormKernels& k, Stream& s, const NormCase& c, const std::vector<View>& v, bool adds) {
  NormInput input = {.x = v[0]};
  if (adds) {
    input.residual = v[1];
    input.sum = v[2];
  }
  return k.row_norm(s, c.norm, input, {v[3], v[4]}, {v[5], v[6]}, v[7]);
}

Status backward(const NormKernels& k, Stream& s, const NormCase& c, const std::vector<View>& v, bool adds,
                const View& weight) {
  return k.row_norm_backward(s, c.norm,
                             {.grad_output = v[8],
                              .x = adds ? v[2] : v[0],
                              .weight = weight,
                              .statistics = {v[5], v[6]},
                              .grad_sum = adds ? v[9] : View{}},
                             {.input = v[10], .weight_sums = v[11], .bias_sums = v[12], .pieces = c.pieces});
}

class RowNormsOnCuda : public NormsOnCuda {
 protected:
  // Compares everything but the sums by pieces, and the sums of the pieces.
  void expect_same_norm(const NormCase& c, DType dtype, bool adds, bool has_weight, double low = 1) {
    const auto call = [=](const Kernels& k, Stream& s, const std::vector<View>& v) {
      Status status = forward(k.norm, s, c, v, adds);
      return status.ok() ? backward(k.norm, s, c, v, adds, has_weight ? v[3] : View{}) : status;
    };
    std::vector<HostTensor> here = norm_tensors(c, dtype, low), there = here;
    std::vector<View> views_here, views_there;
    for (const HostTensor& tensor : here) views_here.push_back(tensor.view());
    ASSERT_TRUE(call(device().device->kernels(), device().device->stream(), views_here).ok());
    DeviceCopies copies(*cuda_device(context()).device);
    for (const HostTensor& tensor : there) views_there.push_back(copies.send(tensor));
    const int64_t waits = cuda_waits();
    ASSERT_TRUE(call(copies.kernels(), copies.stream(), views_there).ok());
    EXPECT_EQ(cuda_waits(), waits);
    ASSERT_TRUE(copies.fetch().ok());
    for (size_t t = 0; t < 11; ++t) expect_same_tensor(there[t], here[t], t);
    for (size_t t = 11; t < 13; ++t) expect_same_sums(there[t], here[t], c);
  }

  static void expect_same_tensor(const HostTensor& there, const HostTensor& here, size_t t) {
    EXPECT_TRUE(there.guards_hold()) << "tensor " << t;
    for (int64_t i = 0; i < here.numel(); ++i) {
      ASSERT_TRUE(is_close(there.get(i), here.get(i), t == 5 || t == 6 ? DType::kF32 : here.view().dtype, 16))
          << "tensor " << t << " element " << i << ": " << there.get(i) << ", not " << here.get(i);
    }
  }
  // Pieces may be cut in any way, so their sums are compared.
  static void expect_same_sums(const HostTensor& there, const HostTensor& here, const NormCase& c) {
    EXPECT_TRUE(there.guards_hold());
    const double terms = static_cast<double>(numel(c.shape)) / static_cast<double>(c.channels);
    for (int64_t channel = 0; channel < c.channels; ++channel) {
      double sums[2] = {0, 0};
      for (int64_t piece = 0; piece < c.pieces; ++piece) {
        sums[0] += there.get(piece * c.channels + channel);
        sums[1] += here.get(piece * c.channels + channel);
      }
      ASSERT_TRUE(is_close(sums[0], sums[1], DType::kF32, 16 + terms))
          << "channel " << channel << ": " << sums[0] << ", not " << sums[1];
    }
  }
};

TEST_F(RowNormsOnCuda, AreThoseOfTheCpuInEveryForm) {
  for (const NormCase& c : norm_cases()) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const bool is_layer = c.norm.groups == 1 && c.norm.spatial == 1;
      for (const bool adds : {false, true}) {
        if (adds && !is_layer) continue;
        for (const bool has_weight : {false, true}) expect_same_norm(c, dtype, adds, has_weight);
      }
      if (HasFailure()) FAIL() << c.name << " of " << name_of(dtype);
    }
  }
}

// The mean is large beside the deviation: it must not cancel.
TEST_F(RowNormsOnCuda, ResolveSmallDeviationsFromALargeMean) {
  for (const NormCase& c : norm_cases()) {
    if (c.norm.statistics != RowStatistics::kMeanAndVariance) continue;
    expect_same_norm(c, DType::kF32, false, true, 1e5);
    if (HasFailure()) FAIL() << c.name;
  }
}

TEST_F(NormsOnCuda, RunningStatisticsMoveAsOnTheCpu) {
  for (const bool is_cumulative : {false, true}) {
    for (const bool has_batch : {false, true}) {
      HostTensor mean(DType::kF32, {700}, {2}), variance(DType::kF64, {700}), batches(DType::kI64, {});
      mean.fill_uniform(-1, 1, 1);
      variance.fill_uniform(0, 1, 2);
      batches.set(0, 3);
      const std::vector<HostTensor> tensors = {mean, variance, batches, filled(DType::kF64, {700}),
                                               filled(DType::kF64, {700})};
      expect_same(
          tensors,
          [=](const NormKernels& k, Stream& s, const std::vector<View>& v) {
            const RunningUpdate update = {.batch = has_batch ? NormStatistics{v[3], v[4]} : NormStatistics{},
                                          .variance_scale = 1.25,
                                          .momentum = 0.3,
                                          .is_cumulative = is_cumulative};
            return k.update_running(s, update, {v[0], v[1], v[2]});
          },
          0);
    }
  }
}

}  // namespace
}  // namespace halftone
