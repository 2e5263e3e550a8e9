// Every elementwise kernel gives an element the same bits at any size, at any strides, over its input and on any number
// of threads. The cases of the operations test the values (tests/ops/cases).
#include <functional>
#include <string>

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// Three operands of one shape, of which a kernel reads the first ones.
using Operands = HostTensor[3];

struct Kernel {
  std::string name;
  int operands;
  std::function<Status(const Operands& in, const HostTensor& out, int threads)> run;
  bool gives_bool = false;
};

// Operations on the bits of integers, which floats do not have.
bool computes_bits(BinaryOp op) {
  return op == BinaryOp::kBitwiseAnd || op == BinaryOp::kBitwiseOr || op == BinaryOp::kBitwiseXor;
}
template <class Op>
bool computes_bits(Op) {
  return false;
}

template <class Op, class Run>
void add_all(std::vector<Kernel>& kernels, const char* kind, int operands, Run run, bool gives_bool = false) {
  for (int op = 0; op < static_cast<int>(Op::kEnd); ++op) {
    if (computes_bits(static_cast<Op>(op))) continue;
    kernels.push_back({kind + std::to_string(op), operands,
                       [=](const Operands& in, const HostTensor& out, int threads) {
                         return run(static_cast<Op>(op), in, out, threads);
                       },
                       gives_bool});
  }
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels;
  add_all<UnaryOp>(kernels, "unary ", 1, [](UnaryOp op, const Operands& in, const HostTensor& out, int threads) {
    return run_unary(op, in[0], out, threads);
  });
  add_all<BinaryOp>(kernels, "binary ", 2, [](BinaryOp op, const Operands& in, const HostTensor& out, int threads) {
    return run_binary(op, in[0], in[1], out, threads);
  });
  add_all<TernaryOp>(kernels, "ternary ", 3, run_ternary);
  add_all<CompareOp>(
      kernels, "compare ", 2,
      [](CompareOp op, const Operands& in, const HostTensor& out, int threads) {
        return run_compare(op, in[0], in[1], out, threads);
      },
      true);
  for (const Activation& activation : {Activation{ActivationOp::kLeakyRelu, 0.01}, {ActivationOp::kElu, 1.5}}) {
    const std::string name = activation.op == ActivationOp::kElu ? "elu" : "leaky_relu";
    kernels.push_back({name, 1, [=](const Operands& in, const HostTensor& out, int threads) {
                         return run_activation(activation, in[0], out, threads);
                       }});
    kernels.push_back({name + " backward", 2, [=](const Operands& in, const HostTensor& out, int threads) {
                         return run_activation_backward(activation, in[0], in[1], out, threads);
                       }});
  }
  kernels.push_back({"clamp", 1, [](const Operands& in, const HostTensor& out, int threads) {
                       return run_clamp({-1, 2}, in[0], out, threads);
                     }});
  kernels.push_back({"clamp backward", 2, [](const Operands& in, const HostTensor& out, int threads) {
                       return run_clamp_backward({-1, 2}, in[0], in[1], out, threads);
                     }});
  kernels.push_back({"affine", 1, [](const Operands& in, const HostTensor& out, int threads) {
                       return run_affine(0.3, 0.7, in[0], out, threads);
                     }});
  return kernels;
}

constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

template <class Body>
void for_each_kernel(Body&& body) {
  for_each_instruction_set([&] {
    for (const Kernel& kernel : all_kernels()) {
      for (const DType dtype : kDtypes) {
        SCOPED_TRACE(kernel.name + " of " + name_of(dtype));
        body(kernel, dtype, kernel.gives_bool ? DType::kBool : dtype);
      }
    }
  });
}

// The values have both signs and are not close to 0, so that results stay in every format's range.
HostTensor operand(DType dtype, const Shape& shape, const Shape& strides, uint32_t seed) {
  HostTensor tensor(dtype, shape, strides);
  tensor.fill_uniform(0.25, 4, seed);
  for (int64_t i = 0; i < tensor.numel(); i += 3) tensor.set(i, -std::fabs(tensor.get(i)));
  return tensor;
}
HostTensor dense(DType dtype, int64_t size, uint32_t seed) { return operand(dtype, {size}, {1}, seed); }

HostTensor dense_copy(const HostTensor& tensor) {
  HostTensor copy(tensor.view().dtype, tensor.view().shape);
  for (int64_t i = 0; i < tensor.numel(); ++i) copy.set(i, tensor.get(i));
  return copy;
}

// A NaN is any NaN.
void expect_first_elements(const HostTensor& out, const HostTensor& expected) {
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double actual = out.get(i), wanted = expected.get(i);
    ASSERT_TRUE((std::isnan(actual) && std::isnan(wanted)) ||
                (actual == wanted && std::signbit(actual) == std::signbit(wanted)))
        << "element " << i << " is " << actual << ", not " << wanted;
  }
  EXPECT_TRUE(out.guards_hold());
}

TEST(ElementwiseLayouts, ElementsDoNotDependOnTheSize) {
  for_each_kernel([](const Kernel& kernel, DType dtype, DType result) {
    const Operands all = {dense(dtype, 1025, 1), dense(dtype, 1025, 2), dense(dtype, 1025, 3)};
    const HostTensor expected(result, {1025});
    ASSERT_TRUE(kernel.run(all, expected, 1).ok());
    for (const int64_t size : kCaseSizes) {
      Operands in = {HostTensor(dtype, {size}), HostTensor(dtype, {size}), HostTensor(dtype, {size})};
      for (int k = 0; k < 3; ++k) {
        for (int64_t i = 0; i < size; ++i) in[k].set(i, all[k].get(i));
      }
      const HostTensor out(result, {size});
      ASSERT_TRUE(kernel.run(in, out, 1).ok());
      expect_first_elements(out, expected);
    }
  });
}

// Each operand takes each stride, beside dense ones and one with others.
TEST(ElementwiseLayouts, ElementsDoNotDependOnStrides) {
  for_each_kernel([](const Kernel& kernel, DType dtype, DType result) {
    for (int place = 0; place < kernel.operands; ++place) {
      for (size_t s = 0; s < std::size(kCaseStrides); ++s) {
        const auto strides_of = [&](int k) { return k == place ? kCaseStrides[s] : k == 2 ? Shape{0, 1, 7} : kDense; };
        const Operands in = {operand(dtype, kCaseShape, strides_of(0), 1), operand(dtype, kCaseShape, strides_of(1), 2),
                             operand(dtype, kCaseShape, strides_of(2), 3)};
        const HostTensor out(result, kCaseShape, kOutputStrides[(s + 1) % std::size(kOutputStrides)]);
        const HostTensor expected(result, kCaseShape);
        ASSERT_TRUE(kernel.run(in, out, 1).ok());
        ASSERT_TRUE(kernel.run({dense_copy(in[0]), dense_copy(in[1]), dense_copy(in[2])}, expected, 1).ok());
        expect_first_elements(out, expected);
      }
    }
  });
}

TEST(ElementwiseLayouts, KernelsWriteOverAnyInput) {
  for_each_kernel([](const Kernel& kernel, DType dtype, DType result) {
    if (result != dtype) return;
    for (int place = 0; place < kernel.operands; ++place) {
      const Operands in = {dense(dtype, 1337, 1), dense(dtype, 1337, 2), dense(dtype, 1337, 3)};
      const HostTensor expected(dtype, {1337});
      ASSERT_TRUE(kernel.run(in, expected, 1).ok());
      ASSERT_TRUE(kernel.run(in, in[place], 1).ok());
      expect_first_elements(in[place], expected);
    }
  });
}

// Operands of unlike dtypes and strides.
TEST(ElementwiseLayouts, BitsDoNotDependOnTheNumberOfThreads) {
  const Shape shape = {7, 30011};
  const Operands in = {operand(DType::kBF16, shape, {30011, 1}, 1), operand(DType::kF32, shape, {0, 1}, 2),
                       operand(DType::kF32, shape, {1, 0}, 3)};
  for (const Kernel& kernel : all_kernels()) {
    SCOPED_TRACE(kernel.name);
    const HostTensor one(kernel.gives_bool ? DType::kBool : DType::kF32, shape);
    ASSERT_TRUE(kernel.run(in, one, 1).ok());
    for (const int threads : {2, 7}) {
      const HostTensor out(one.view().dtype, shape);
      ASSERT_TRUE(kernel.run(in, out, threads).ok());
      EXPECT_EQ(out.bytes(), one.bytes());
    }
  }
}

}  // namespace
}  // namespace halftone
