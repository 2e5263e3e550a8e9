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

}  // namespace
}  // namespace halftone
