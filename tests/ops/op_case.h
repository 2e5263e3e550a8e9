// One list of cases for every operation. A case is data: the operation, inputs, shapes, a call, and a reference in
// double that was written independently. op_values_test.cpp runs every case on every instruction set, dtype and layout.
// op_gradients_test.cpp compares the gradients with finite differences. op_list_test.cpp checks that no operation is
// missing. The lists are in cases/, one file per folder of impl/ops. Used from one thread.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "array.h"
#include "ops/dispatch/op.h"
#include "tensor/tensor.h"

namespace halftone {

using Arrays = std::vector<Array>;
using Tensors = std::vector<Tensor>;
using Shapes = std::vector<Shape>;  // the shapes of a call's inputs

// Returns element `i` of an input of a call with these shapes.
using Draw = std::function<double(std::mt19937& random, const Shapes& shapes, int64_t i)>;

Draw uniform(double low, double high);
// Odd multiples of 1/128 below 2, exact in every float of 16 bits or more. None is 0 or a multiple of 1/64, and among
// 256 neighbours no two are equal. Another `offset` gives other values at each position.
Draw distinct(int offset = 0);
// Values from a small set with NaN and infinity, for which comparisons differ.
Draw coarse();
// Indices along dimension `dim` of input `table`.
Draw index_into(int table, int dim);
// 0 or 1.
Draw coin();

struct OpInput {
  Draw draw;
  DType dtype = {};  // the run's dtype if none is given
};
inline OpInput index_input(int table, int dim) { return {index_into(table, dim), DType::kI64}; }
inline OpInput narrow_index_input(int table, int dim) { return {index_into(table, dim), DType::kI32}; }
inline OpInput mask_input() { return {coin(), DType::kBool}; }

// The dtypes that a case runs on; each value adds to the one before.
enum class Dtypes {
  kFloats,      // f64, f32, f16, bf16
  kSigned,      // and signed integers
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
  const char* what = "";  // the special feature of the case
  std::vector<OpInput> inputs = {};
  std::vector<Shapes> shapes = {};
  std::function<Tensors(const Tensors&)> run = {};
  std::function<Arrays(const Arrays&)> reference = {};
  Dtypes dtypes = Dtypes::kFloats;
  std::vector<ResultDtype> results = {same};  // one per result; the last one applies to the rest
  bool is_exact = false;                      // results are moved or selected, never computed
  // False if finite differences cannot see the gradient, for example because of a rounding.
  bool has_gradient = true;
  // The number of roundings to the run's dtype on the way to a gradient, each in proportion to the derivative. The
  // gradient itself is rounded once more.
  double gradient_roundings = 3;
  // The number of results that follow the operation's row under autocast; the others have the dtype of the inputs.
  size_t autocast_results = 8;
  // The size of the terms that a slope is the sum of, for terms that may cancel.
  double slope_terms = 0;
};

// True if the shape of the result depends on elements of an input, so that the operation waits for the device.
constexpr bool has_shape_of_values(Op op) {
  return op == Op::kNonzero || op == Op::kMaskedSelect || op == Op::kBincount || op == Op::kRepeatInterleaveCounts;
}

std::string describe(const OpCase& op_case, DType dtype, const Shapes& shapes);

// The parts of the list.
std::vector<OpCase> unary_cases();
std::vector<OpCase> step_cases();
std::vector<OpCase> scalar_cases();
std::vector<OpCase> binary_cases();
std::vector<OpCase> integer_cases();
std::vector<OpCase> gate_cases();
std::vector<OpCase> compare_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> fp8_cases();
std::vector<OpCase> format_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> conv_cases();
std::vector<OpCase> conv3d_cases();
std::vector<OpCase> pool_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> product_cases();
std::vector<OpCase> vector_norm_cases();
std::vector<OpCase> min_max_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> batch_norm_cases();
std::vector<OpCase> range_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> class_loss_cases();
std::vector<OpCase> view_cases();
std::vector<OpCase> tile_cases();
std::vector<OpCase> join_cases();
std::vector<OpCase> index_cases();
std::vector<OpCase> scatter_cases();
std::vector<OpCase> random_cases();
std::vector<OpCase> select_cases();
std::vector<OpCase> search_cases();
std::vector<OpCase> order_statistics_cases();
std::vector<OpCase> upsample_cases();
std::vector<OpCase> grid_cases();
std::vector<OpCase> distance_cases();
std::vector<OpCase> ctc_cases();
std::vector<OpCase> image_cases();
std::vector<OpCase> pool3d_cases();

// All cases; every call returns the same objects.
const std::vector<OpCase>& op_cases();
// The cases of one operation.
std::vector<const OpCase*> cases_of(Op op);

}  // namespace halftone
