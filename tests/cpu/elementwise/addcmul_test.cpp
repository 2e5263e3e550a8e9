#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// Halves and whole numbers, so ties and zeros are frequent.
HostTensor addcmul_operand(DType dtype, const Shape& shape, const Shape& strides, int step) {
  HostTensor tensor(dtype, shape, strides);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, static_cast<double>(i * step % 7) / 2);
  return tensor;
}

// The operands are so small that every sum is exact in 16 bits.
TEST(Addcmul, EqualsTheReferenceAtAnyStrides) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI32, DType::kI64}) {
      SCOPED_TRACE(name_of(dtype));
      const int step = is_float(dtype) ? 1 : 2;  // halves or whole numbers
      for (const Shape& strides : kCaseStrides) {
        const HostTensor in[] = {addcmul_operand(dtype, kCaseShape, strides, 2 * step),
                                 addcmul_operand(dtype, kCaseShape, kDense, 4 * step),
                                 addcmul_operand(dtype, kCaseShape, {0, 1, 7}, 6 * step)};
        const HostTensor out(dtype, kCaseShape, kOutputStrides[2]);
        ASSERT_TRUE(run_addcmul(-2, in, out).ok());
        expect_elements(out, [&](int64_t i) { return in[0].get(i) - 2 * in[1].get(i) * in[2].get(i); });
      }
    }
  });
}

// (3 * 2^127) * 2^-127 overflows in FP32, 3 * (2^127 * 2^-127) would not.
TEST(Addcmul, MultipliesFromLeftToRight) {
  for_each_instruction_set([] {
    for (const int64_t size : kCaseSizes) {
      HostTensor in[] = {HostTensor(DType::kF32, {size}), HostTensor(DType::kF32, {size}),
                         HostTensor(DType::kF32, {size})};
      for (int64_t i = 0; i < size; ++i) {
        in[0].set(i, 1);
        in[1].set(i, i % 2 == 0 ? 0x1p127 : 0x1p-127);
        in[2].set(i, i % 2 == 0 ? 0x1p-127 : 0x1p127);
      }
      const HostTensor out(DType::kF32, {size});
      ASSERT_TRUE(run_addcmul(3, in, out).ok());
      expect_elements(out, [&](int64_t i) { return i % 2 == 0 ? INFINITY : 4.0; });
    }
  });
}

TEST(Addcmul, WrapsIntegers) {
  for_each_instruction_set([] {
    HostTensor in[] = {HostTensor(DType::kI8, {1}), HostTensor(DType::kI8, {1}), HostTensor(DType::kI8, {1})};
    in[0].set(0, 100);
    in[1].set(0, 10);
    in[2].set(0, 5);
    const HostTensor out(DType::kI8, {1});
    ASSERT_TRUE(run_addcmul(3, in, out).ok());
    EXPECT_EQ(out.get(0), -6);  // 250 - 256
  });
}

TEST(Addcmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Shape shape = {7, 30011};
  const HostTensor in[] = {addcmul_operand(DType::kBF16, shape, {30011, 1}, 1),
                           addcmul_operand(DType::kF32, shape, {0, 1}, 2),
                           addcmul_operand(DType::kF32, shape, {1, 0}, 3)};
  const HostTensor one(DType::kF32, shape);
  ASSERT_TRUE(run_addcmul(0.3, in, one).ok());
  for (const int threads : {2, 7}) {
    const HostTensor out(DType::kF32, shape);
    ASSERT_TRUE(run_addcmul(0.3, in, out, threads).ok());
    EXPECT_EQ(out.bytes(), one.bytes());
  }
}

}  // namespace
}  // namespace halftone
