// One list of cases for every operation. A case is data: the operation, inputs, shapes, a call and a reference in
// double that was written independently of it. op_values_test.cpp runs every case on every instruction set, dtype and
// layout, op_gradients_test.cpp holds the gradients against finite differences, op_list_test.cpp holds that no
// operation is missing. Case lists stand in cases/, a file for each folder of impl/ops. Used from one thread.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "array.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace halftone {

using Arrays = std::vector<Array>;
using Tensors = std::vector<Tensor>;
using Shapes = std::vector<Shape>;  // of a call's inputs

// Answers element `i` of an input of a call with these shapes.
using Draw = std::function<double(std::mt19937& random, const Shapes& shapes, int64_t i)>;

Draw uniform(double low, double high);
// Odd multiples of 1/128 below 2, exact in every float of 16 bits and more: neither 0 nor a multiple of 1/64, and of
// 256 neighbours no two are equal. Another `offset` gives other values at the same places.
Draw distinct(int offset = 0);
// Some of few values, NaN and infinity among them: what comparisons differ in.
Draw coarse();
// Indices along dimension `dim` of input `table`.
Draw index_into(int table, int dim);
// 0 and 1.
Draw coin();

struct OpInput {
  Draw draw;
  DType dtype = {};  // that of the run where none is given
};
inline OpInput index_input(int table, int dim) { return {index_into(table, dim), DType::kI64}; }
inline OpInput narrow_index_input(int table, int dim) { return {index_into(table, dim), DType::kI32}; }
inline OpInput mask_input() { return {coin(), DType::kBool}; }

// Which dtypes a case runs on.
enum class Dtypes {
  kFloats,      // f64, f32, f16, bf16
  kSigned,      // and integers with a sign
  kArithmetic,  // and u8
  kNumbers,     // and bool
  kAll,         // and 8-bit floats
};
std::vector<DType> dtypes_of(Dtypes dtypes);

// The dtype of a result for a run's dtype.
using ResultDtype = DType (*)(DType);
inline DType same(DType dtype) { return dtype; }
inline DType as_bool(DType) { return DType::kBool; }
inline DType as_index(DType) { return DType::kI64; }
inline DType as_f32(DType) { return DType::kF32; }
inline DType float_or_f32(DType dtype) { return is_float(dtype) ? dtype : DType::kF32; }
inline DType float_or_i64(DType dtype) { return is_float(dtype) ? dtype : DType::kI64; }
inline DType f32_or_wider(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

struct OpCase {
  Op op;
  const char* what = "";  // is special about the case
  std::vector<OpInput> inputs = {};
  std::vector<Shapes> shapes = {};
  std::function<Tensors(const Tensors&)> run = {};
  std::function<Arrays(const Arrays&)> reference = {};
  Dtypes dtypes = Dtypes::kFloats;
  std::vector<ResultDtype> results = {same};  // of each result
  bool is_exact = false;                      // results are moved or chosen, never computed
  // Whether finite differences see the gradient: not through a rounding.
  bool has_gradient = true;
  // How many roundings to the run's dtype lead to a gradient, each as large as the derivative makes it.
  double gradient_roundings = 4;
  // How large the terms of a slope are that it is the sum of, where they may cancel.
  double slope_terms = 0;
};

std::string describe(const OpCase& op_case, DType dtype, const Shapes& shapes);

// The parts of the list.
std::vector<OpCase> unary_cases();
std::vector<OpCase> binary_cases();
std::vector<OpCase> compare_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> conv_cases();
std::vector<OpCase> pool_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> extreme_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> batch_norm_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> class_loss_cases();
std::vector<OpCase> view_cases();
std::vector<OpCase> join_cases();
std::vector<OpCase> index_cases();
std::vector<OpCase> random_cases();

// All of them; the same objects at every call.
const std::vector<OpCase>& op_cases();
// Those of one operation.
std::vector<const OpCase*> cases_of(Op op);

}  // namespace halftone
