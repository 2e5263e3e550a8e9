#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu/reduce/cases.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

void min_max(MinMax which, const HostTensor& in, const HostTensor& out, int threads = 1) {
  ASSERT_TRUE(with_stream(threads, [&](Stream& stream) {
                return cpu::kReduceKernels.min_max(stream, which, in.view(), out.view());
              }).ok());
}

TEST(MinMax, OfTheEndsOfInt64IsExact) {
  HostTensor in(DType::kI64, {3});
  const int64_t values[] = {INT64_MAX - 1, INT64_MAX, INT64_MIN};
  std::memcpy(in.data(), values, sizeof values);
  HostTensor out(DType::kI64, {1});
  int64_t result;
  min_max(MinMax::kMax, in, out);
  std::memcpy(&result, out.data(), sizeof result);
  EXPECT_EQ(result, INT64_MAX);
  min_max(MinMax::kMin, in, out);
  std::memcpy(&result, out.data(), sizeof result);
  EXPECT_EQ(result, INT64_MIN);
}

TEST(MinMax, IsTheSameOnAnyNumberOfThreads) {
  for (const Shape& shape : {Shape{1000, 300}, Shape{3, 100000}, Shape{100000, 3}}) {
    HostTensor in(DType::kF32, shape);
    in.fill_uniform(-1, 1, 3);
    for (uint32_t dims = 1; dims < 4; ++dims) {
      HostTensor one(DType::kF32, reduced_shape(shape, dims)), seven(DType::kF32, reduced_shape(shape, dims));
      min_max(MinMax::kMax, in, one, 1);
      min_max(MinMax::kMax, in, seven, 7);
      EXPECT_EQ(one.bytes(), seven.bytes());
    }
  }
}

TEST(MinMaxBackward, SharesTheGradientAmongTies) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(name_of(dtype));
      for (const ReduceCase& c : kReduceCases) {
        if (numel(c.shape) == 0) continue;
        HostTensor in(dtype, c.shape, c.strides), grad_in(dtype, c.shape);
        in.fill_uniform(-3, 3, 3);
        for (int64_t i = 0; i < in.numel(); ++i) in.set(i, std::round(in.get(i)));
        for (uint32_t dims = 0; dims < 1u << c.shape.rank(); ++dims) {
          const Shape out_shape = reduced_shape(c.shape, dims);
          HostTensor values(dtype, out_shape), grad(dtype, out_shape);
          grad.fill_uniform(-1, 1, 5);
          min_max(MinMax::kMax, in, values);
          ASSERT_TRUE(with_stream(3, [&](Stream& stream) {
                        return cpu::kReduceKernels.min_max_backward(stream, grad.view(), in.view(), values.view(),
                                                                    grad_in.view());
                      }).ok());
          const auto terms = terms_of(c.shape, out_shape);
          for (size_t i = 0; i < terms.size(); ++i) {
            const double value = values.get(static_cast<int64_t>(i));
            const auto ties =
                std::count_if(terms[i].begin(), terms[i].end(), [&](int64_t t) { return in.get(t) == value; });
            for (const int64_t t : terms[i]) {
              const double share = grad.get(static_cast<int64_t>(i)) / static_cast<double>(ties);
              ASSERT_TRUE(is_close(grad_in.get(t), in.get(t) == value ? share : 0, dtype)) << t;
            }
          }
          EXPECT_TRUE(grad_in.guards_hold());
        }
      }
    }
  });
}

}  // namespace
}  // namespace halftone
