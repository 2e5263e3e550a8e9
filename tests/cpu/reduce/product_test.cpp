// Products, running products and norms, with their gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/reduce/cases.h"
#include "instruction_sets.h"
#include "tolerance.h"

namespace halftone {
namespace {

const DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI32};

// Factors close to 1 keep long products in range; integers are 1 and -1.
void fill_factors(HostTensor& in) {
  if (is_float(in.view().dtype)) return in.fill_uniform(0.99995, 1.00005, 3);
  for (int64_t i = 0; i < in.numel(); ++i) in.set(i, i % 3 == 0 ? -1 : 1);
}

TEST(Product, FollowsTheReference) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const ReduceCase& c : kReduceCases) {
        HostTensor in(dtype, c.shape, c.strides);
        fill_factors(in);
        for (uint32_t dims = 0; dims < 1u << c.shape.rank(); ++dims) {
          const Shape out_shape = reduced_shape(c.shape, dims);
          const HostTensor out(is_float(dtype) ? dtype : DType::kI64, out_shape);
          ASSERT_TRUE(with_stream(2, [&](Stream& stream) {
                        return cpu::kReduceKernels.product(stream, in.view(), out.view());
                      }).ok());
          const auto terms = terms_of(c.shape, out_shape);
          for (size_t i = 0; i < terms.size(); ++i) {
            double product = 1;
            for (const int64_t t : terms[i]) product *= in.get(t);
            const auto at = static_cast<int64_t>(i);
            const double width = 1 + static_cast<double>(terms[i].size());
            ASSERT_TRUE(is_close(out.get(at), product, out.view().dtype, dtype == DType::kF64 ? width : 1));
          }
          EXPECT_TRUE(out.guards_hold());
        }
      }
    }
  });
}

void cumulative_product(const HostTensor& in, int dim, const HostTensor& out) {
  ASSERT_TRUE(with_stream(2, [&](Stream& stream) {
                return cpu::kReduceKernels.cumulative_product(stream, in.view(), dim, out.view());
              }).ok());
}

TEST(CumulativeProduct, FollowsTheReference) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const ReduceCase& c : kReduceCases) {
        HostTensor in(dtype, c.shape, c.strides), out(is_float(dtype) ? dtype : DType::kI64, c.shape);
        fill_factors(in);
        for (int dim = 0; dim < std::max(1, c.shape.rank()); ++dim) {
          cumulative_product(in, dim, out);
          for (const auto& way : terms_of(c.shape, reduced_shape(c.shape, 1u << dim))) {
            double product = 1;
            for (const int64_t at : way) {
              product *= in.get(at);
              ASSERT_TRUE(is_close(out.get(at), product, out.view().dtype)) << out.get(at) << " for " << product;
            }
          }
          EXPECT_TRUE(out.guards_hold());
        }
      }
    }
  });
}

// The sum over all later products of the gradient times the other factors.
double gradient_at(const HostTensor& grad, const HostTensor& in, const std::vector<int64_t>& way, size_t i) {
  double sum = 0;
  for (size_t j = i; j < way.size(); ++j) {
    double product = grad.get(way[j]);
    for (size_t k = 0; k <= j; ++k) product *= k == i ? 1 : in.get(way[k]);
    sum += product;
  }
  return sum;
}

TEST(CumulativeProductBackward, FollowsTheReferenceAlsoAtZeros) {
  const ReduceCase cases[] = {
      {{1}, {1}}, {{300}, {1}},    {{5, 30}, {30, 1}}, {{30, 5}, {1, 31}}, {{3, 7, 4}, {56, 8, 2}},
      {{}, {}},   {{0, 3}, {3, 1}}};
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(name_of(dtype));
      for (const ReduceCase& c : cases) {
        HostTensor in(dtype, c.shape, c.strides), grad(dtype, c.shape), grad_in(dtype, c.shape);
        const HostTensor products(DType::kF64, c.shape);
        in.fill_uniform(0.75, 1.25, 3);
        grad.fill_uniform(-1, 1, 4);
        for (int64_t i = 3; i < in.numel(); i += 7) in.set(i, 0);
        for (int dim = 0; dim < std::max(1, c.shape.rank()); ++dim) {
          cumulative_product(in, dim, products);
          ASSERT_TRUE(with_stream(2, [&](Stream& stream) {
                        return cpu::kReduceKernels.cumulative_product_backward(stream, grad.view(), in.view(),
                                                                               products.view(), dim, grad_in.view());
                      }).ok());
          for (const auto& way : terms_of(c.shape, reduced_shape(c.shape, 1u << dim))) {
            for (size_t i = 0; i < way.size(); ++i) {
              const double expected = gradient_at(grad, in, way, i);
              ASSERT_NEAR(grad_in.get(way[i]), expected, 1e-12 + 4 * half_step(dtype).relative * std::fabs(expected));
            }
          }
          EXPECT_TRUE(grad_in.guards_hold());
        }
      }
    }
  });
}

double norm_of(const HostTensor& in, const std::vector<int64_t>& terms, double p) {
  double sum = 0;
  for (const int64_t t : terms) sum += p == 0 ? in.get(t) != 0 : std::pow(std::fabs(in.get(t)), p);
  return p == 0 ? sum : std::pow(sum, 1 / p);
}

TEST(VectorNorm, AndItsGradientFollowTheReference) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(name_of(dtype));
      for (const ReduceCase& c : kReduceCases) {
        if (c.shape.rank() > 2) continue;
        HostTensor in(dtype, c.shape, c.strides), grad_in(dtype, c.shape);
        in.fill_uniform(-1, 1, 3);
        for (int64_t i = 0; i < in.numel(); i += 5) in.set(i, 0);
        for (const double p : {0.0, 1.0, 2.0, 2.5}) {
          for (uint32_t dims = 0; dims < 1u << c.shape.rank(); ++dims) {
            const Shape out_shape = reduced_shape(c.shape, dims);
            HostTensor out(dtype, out_shape), grad(dtype, out_shape);
            grad.fill_uniform(-1, 1, 5);
            ASSERT_TRUE(with_stream(2, [&](Stream& stream) {
                          const Status status = cpu::kReduceKernels.vector_norm(stream, p, in.view(), out.view());
                          return !status.ok() ? status
                                              : cpu::kReduceKernels.vector_norm_backward(
                                                    stream, p, grad.view(), in.view(), out.view(), grad_in.view());
                        }).ok());
            const auto terms = terms_of(c.shape, out_shape);
            for (size_t i = 0; i < terms.size(); ++i) {
              const auto at = static_cast<int64_t>(i);
              ASSERT_TRUE(is_close(out.get(at), norm_of(in, terms[i], p), dtype, 64)) << out.get(at);
              for (const int64_t t : terms[i]) {
                const double x = in.get(t), share = std::pow(std::fabs(x) / out.get(at), p - 1);
                const double expected = x == 0 || p == 0 ? 0 : grad.get(at) * std::copysign(share, x);
                ASSERT_TRUE(is_close(grad_in.get(t), expected, dtype, 8)) << grad_in.get(t) << " for " << expected;
              }
            }
            EXPECT_TRUE(out.guards_hold());
            EXPECT_TRUE(grad_in.guards_hold());
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace halftone
