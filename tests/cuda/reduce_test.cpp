// Reductions on the CUDA device beside the cases of the operations: few outputs with many terms, which many blocks
// share, and rows and columns of every kind of alignment; compared with the CPU's.
#include <string>

#include "both_devices.h"

namespace halftone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ReductionsOnCuda : public BothDevicesTest {
 protected:
  using ReduceCall = std::function<Status(const ReduceKernels&, Stream&, const std::vector<View>&)>;

  void expect_same(const std::vector<HostTensor>& tensors, const ReduceCall& call, double growth = 4) {
    expect_same_on_both(
        tensors,
        [&](const Kernels& kernels, Stream& stream, const std::vector<View>& views) {
          return call(kernels.reduce, stream, views);
        },
        growth);
  }
};

// Shapes of an input and its output: rows, columns, all dimensions; with pieces and without.
struct Form {
  Shape in, strides, out;
};
std::vector<Form> forms() {
  return {{{70000}, {1}, {1}},                       // one output by many blocks
          {{3, 20000}, {20000, 1}, {3, 1}},          // few rows, in tiles
          {{3, 20001}, {20003, 1}, {3, 1}},          // rows that are not aligned
          {{9000, 5}, {5, 1}, {1, 5}},               // few columns
          {{9000, 40}, {40, 1}, {1, 40}},            // a warp of columns and some
          {{500, 3}, {3, 1}, {500, 1}},              // many short rows
          {{2, 300}, {1, 2}, {2, 1}},                // rows that are columns in memory
          {{6, 50, 40}, {2000, 40, 1}, {1, 50, 1}},  // dimensions around the kept one
          {{5, 4, 30}, {1, 150, 5}, {5, 1, 30}},     // any order
          {{20000}, {2}, {1}},                       // with gaps
          {{4, 1, 7}, {7, 7, 1}, {4, 1, 7}}};        // nothing to reduce
}

TEST_F(ReductionsOnCuda, SumsScaleAndAdd) {
  for (const Form& form : forms()) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI32}) {
      const DType result = dtype == DType::kI32 ? DType::kI64 : dtype == DType::kBF16 ? DType::kF32 : dtype;
      const double most = is_float(dtype) ? 1 : 1e6;
      const std::vector<HostTensor> tensors = {filled(dtype, form.in, form.strides, -most / 10, most),
                                               filled(result, form.out)};
      for (const Store store : {Store::kWrite, Store::kAdd}) {
        expect_same(tensors, [=](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
          return k.sum(s, v[0], 0.25, store, v[1]);
        });
        if (HasFailure()) FAIL() << ShapeText(form.in).text << name_of(dtype);
      }
    }
  }
}

TEST_F(ReductionsOnCuda, ExtremesAndTheirIndicesAreExact) {
  for (const Form& form : forms()) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kI64}) {
      const double most = is_float(dtype) ? 1 : 1e6;
      HostTensor in = filled(dtype, form.in, form.strides, -most, most);
      if (dtype == DType::kF32) in.set(in.numel() / 2, kNan);
      const std::vector<HostTensor> tensors = {in, HostTensor(dtype, form.out), HostTensor(DType::kI64, form.out)};
      int reduced = 0;
      for (int i = 0; i < form.in.rank(); ++i) reduced += form.in[i] != form.out[i] ? 1 : 0;
      for (const MinMax which : {MinMax::kMax, MinMax::kMin}) {
        expect_same(
            tensors,
            [=](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
              const Status status = k.min_max(s, which, v[0], v[1]);
              return status.ok() && reduced == 1 ? k.index_of(s, v[0], v[1], v[2]) : status;
            },
            0);
        if (HasFailure()) FAIL() << ShapeText(form.in).text << name_of(dtype);
      }
    }
  }
}

// Ties on purpose: few different values.
TEST_F(ReductionsOnCuda, TheGradientOfAnExtremeIsSharedAmongTies) {
  for (const Form& form : forms()) {
    HostTensor in(DType::kF32, form.in, form.strides);
    for (int64_t i = 0; i < in.numel(); ++i) in.set(i, static_cast<double>(i * 7919 % 13));
    const std::vector<HostTensor> tensors = {filled(DType::kF32, form.out), in, HostTensor(DType::kF32, form.out),
                                             HostTensor(DType::kF32, form.in)};
    expect_same(tensors, [](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
      const Status status = k.min_max(s, MinMax::kMax, v[1], v[2]);
      return status.ok() ? k.min_max_backward(s, v[0], v[1], v[2], v[3]) : status;
    });
    if (HasFailure()) FAIL() << ShapeText(form.in).text;
  }
}

TEST_F(ReductionsOnCuda, ProductsAreThoseOfTheCpu) {
  for (const Form& form : forms()) {
    for (const DType dtype : {DType::kF32, DType::kI32}) {
      const std::vector<HostTensor> tensors = {
          filled(dtype, form.in, form.strides, is_float(dtype) ? 0.999 : 3, is_float(dtype) ? 1.001 : 1e4),
          HostTensor(is_float(dtype) ? DType::kF64 : DType::kI64, form.out)};
      expect_same(
          tensors,
          [](const ReduceKernels& k, Stream& s, const std::vector<View>& v) { return k.product(s, v[0], v[1]); }, 1000);
      if (HasFailure()) FAIL() << ShapeText(form.in).text << name_of(dtype);
    }
  }
}

TEST_F(ReductionsOnCuda, NormsAreThoseOfTheCpu) {
  for (const Form& form : forms()) {
    for (const double p : {0.0, 1.0, 2.0, 3.5, -1.0}) {
      const std::vector<HostTensor> tensors = {filled(DType::kF32, form.in, form.strides),
                                               HostTensor(DType::kF32, form.out), HostTensor(DType::kF32, form.in)};
      expect_same(tensors, [=](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
        const Status status = k.vector_norm(s, p, v[0], v[1]);
        return status.ok() ? k.vector_norm_backward(s, p, v[1], v[0], v[1], v[2]) : status;
      });
      if (HasFailure()) FAIL() << ShapeText(form.in).text << p;
    }
  }
}

TEST_F(ReductionsOnCuda, VariancesAreThoseOfTheCpu) {
  for (const Form& form : forms()) {
    for (const bool takes_root : {false, true}) {
      const std::vector<HostTensor> tensors = {filled(DType::kF32, form.in, form.strides, 1000, 1001),
                                               HostTensor(DType::kF64, form.out), HostTensor(DType::kF64, form.out)};
      expect_same(
          tensors,
          [=](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
            return k.variance(s, {.divisor = 3, .takes_root = takes_root}, v[0], v[1], v[2]);
          },
          100);
      if (HasFailure()) FAIL() << ShapeText(form.in).text;
    }
  }
}

TEST_F(ReductionsOnCuda, EqualElementsHaveNoVariance) {
  HostTensor in(DType::kF32, {70000});
  for (int64_t i = 0; i < in.numel(); ++i) in.set(i, 0.1f);
  expect_same(
      {in, HostTensor(DType::kF64, {1}), HostTensor(DType::kF64, {1})},
      [](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
        return k.variance(s, {.divisor = 69999, .takes_root = false}, v[0], v[1], v[2]);
      },
      0);
}

// The cases of infinities and NaN, in inputs of one block and of many.
TEST_F(ReductionsOnCuda, LogSumExpAndItsGradientAreThoseOfTheCpu) {
  const auto call = [](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
    const Status status = k.log_sum_exp(s, v[0], v[1]);
    return status.ok() ? k.log_sum_exp_backward(s, v[2], v[0], v[3]) : status;
  };
  for (const Form& form : forms()) {
    for (const double most : {1.0, 300.0}) {
      const std::vector<HostTensor> tensors = {filled(DType::kF32, form.in, form.strides, -most, most),
                                               HostTensor(DType::kF32, form.out), filled(DType::kF32, form.out),
                                               HostTensor(DType::kF32, form.in)};
      expect_same(tensors, call, 64);
      if (HasFailure()) FAIL() << ShapeText(form.in).text;
    }
  }
  for (const int64_t size : {5, 70000}) {
    for (const double rest : {1.0, -kInfinity}) {
      for (const double one : {kInfinity, -kInfinity, kNan, 2.0}) {
        HostTensor in(DType::kF32, {size});
        for (int64_t i = 0; i < size; ++i) in.set(i, rest);
        in.set(size / 2, one);
        expect_same({in, HostTensor(DType::kF32, {1}), filled(DType::kF32, {1}), HostTensor(DType::kF32, {size})}, call,
                    64);
        if (HasFailure()) FAIL() << size << " of " << rest << " and " << one;
      }
    }
  }
}

TEST_F(ReductionsOnCuda, LinesAreRunAlongInEveryLayout) {
  for (const Shape& strides : {Shape{1, 40, 280}, Shape{280, 40, 1}, Shape{3, 999, 40}}) {
    for (int dim = 0; dim < 3; ++dim) {
      const std::vector<HostTensor> tensors = {
          filled(DType::kF32, {40, 7, 33}, strides), HostTensor(DType::kF32, {40, 7, 33}),
          filled(DType::kF32, {40, 7, 33}), HostTensor(DType::kF64, {40, 7, 33}), HostTensor(DType::kF32, {40, 7, 33})};
      for (const bool from_end : {false, true}) {
        expect_same(tensors, [=](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
          return k.cumulative_sum(s, v[0], dim, from_end, v[1]);
        });
      }
      expect_same(tensors, [=](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
        const Status status = k.cumulative_product(s, v[0], dim, v[3]);
        return status.ok() ? k.cumulative_product_backward(s, v[2], v[0], v[3], dim, v[4]) : status;
      });
      if (HasFailure()) FAIL() << dim;
    }
  }
}

TEST_F(ReductionsOnCuda, AccuracyCountsRowsOfManyBlocks) {
  HostTensor logits = filled(DType::kBF16, {9000, 3}), targets(DType::kI64, {9000});
  for (int64_t i = 0; i < 9000; ++i) targets.set(i, static_cast<double>(i % 3));
  logits.set(4, kNan);
  const auto call = [](const ReduceKernels& k, Stream& s, const std::vector<View>& v) {
    return k.accuracy(s, v[0], v[1], v[2]);
  };
  expect_same({logits, targets, HostTensor(DType::kF32, {})}, call, 0);
  expect_same({HostTensor(DType::kF32, {0, 3}), HostTensor(DType::kI64, {0}), HostTensor(DType::kF32, {})}, call, 0);
}

TEST_F(ReductionsOnCuda, AccuracyReportsATargetThatIsNoClass) {
  HostTensor logits = filled(DType::kF32, {5, 3}), targets(DType::kI64, {5}), out(DType::kF32, {});
  for (int64_t i = 0; i < 5; ++i) targets.set(i, i == 3 ? 7 : 1);
  DeviceCopies copies(*cuda_device(context()).device);
  const View there[] = {copies.send(logits), copies.send(targets), copies.send(out)};
  ASSERT_TRUE(copies.kernels().reduce.accuracy(copies.stream(), there[0], there[1], there[2]).ok());
  const Status status = copies.stream().synchronize();
  EXPECT_EQ(status.code, Code::kInvalidArgument);
  EXPECT_STREQ(status.message, "targets[3]=7 is outside [0, 3)");
}

}  // namespace
}  // namespace halftone
