// Activations with a number, and their gradients.
#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

double reference(const Activation& activation, double x) {
  if (x > 0) return x;
  return activation.number * (activation.op == ActivationOp::kElu ? std::expm1(x) : x);
}

double reference_slope(const Activation& activation, double x) {
  if (x > 0) return 1;
  return activation.number * (activation.op == ActivationOp::kElu ? std::exp(x) : 1);
}

const Activation kActivations[] = {{ActivationOp::kLeakyRelu, 0.01}, {ActivationOp::kElu, 1.5}};

template <class Body>
void for_each_case(Body&& body) {
  for_each_instruction_set([&] {
    for (const Activation& activation : kActivations) {
      for (const DType dtype : kFloatDtypes) {
        SCOPED_TRACE(std::string(activation.op == ActivationOp::kElu ? "elu " : "leaky_relu ") + name_of(dtype));
        body(activation, dtype);
      }
    }
  });
}

void expect_reference(const Activation& activation, HostTensor& x, const HostTensor& out) {
  x.fill_uniform(-4, 4, 21);
  ASSERT_TRUE(run_activation(activation, x, out).ok());
  expect_elements(out, [&](int64_t i) { return reference(activation, x.get(i)); });
  HostTensor grad(x.view().dtype, out.view().shape);
  grad.fill_uniform(-2, 2, 22);
  ASSERT_TRUE(run_activation_backward(activation, grad, x, out).ok());
  expect_elements(out, [&](int64_t i) { return grad.get(i) * reference_slope(activation, x.get(i)); });
}

TEST(Activation, EqualsTheReferenceAtEverySize) {
  for_each_case([](const Activation& activation, DType dtype) {
    for (const int64_t size : kCaseSizes) {
      HostTensor x(dtype, {size});
      expect_reference(activation, x, HostTensor(dtype, {size}));
    }
  });
}

TEST(Activation, EqualsTheReferenceAtAnyStrides) {
  for_each_case([](const Activation& activation, DType dtype) {
    for (const Shape& strides : kCaseStrides) {
      for (const Shape& out_strides : kOutputStrides) {
        HostTensor x(dtype, kCaseShape, strides);
        expect_reference(activation, x, HostTensor(dtype, kCaseShape, out_strides));
      }
    }
  });
}

TEST(Activation, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const Activation& activation : kActivations) {
    HostTensor x(DType::kF32, {100003});
    HostTensor one(DType::kBF16, {100003});
    expect_reference(activation, x, one);
    ASSERT_TRUE(run_activation(activation, x, one).ok());
    for (const int threads : {2, 7}) {
      HostTensor out(DType::kBF16, {100003});
      ASSERT_TRUE(run_activation(activation, x, out, threads).ok());
      EXPECT_EQ(out.bytes(), one.bytes());
    }
  }
}

TEST(Activation, RefusesIntegers) {
  const HostTensor x(DType::kI32, {4});
  const HostTensor out(DType::kI32, {4});
  for (const Activation& activation : kActivations) {
    EXPECT_EQ(run_activation(activation, x, out).code, Code::kUnsupported);
    EXPECT_EQ(run_activation_backward(activation, x, x, out).code, Code::kUnsupported);
  }
}

}  // namespace
}  // namespace halftone
