#include "op_case.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "sanitizers.h"

namespace halftone {

Draw uniform(double low, double high) {
  return [low, high](std::mt19937& random, const Shapes&, int64_t) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
}

Draw distinct(int offset) {
  return [offset](std::mt19937&, const Shapes&, int64_t i) {
    return (2 * static_cast<double>((101 * (i + offset) + 17) % 256) - 255) / 128;
  };
}

Draw coarse() {
  return [](std::mt19937& random, const Shapes&, int64_t) {
    const uint32_t choice = random() % 16;
    if (choice == 0) return std::numeric_limits<double>::quiet_NaN();
    if (choice == 1) return std::numeric_limits<double>::infinity();
    if (choice == 2) return -std::numeric_limits<double>::infinity();
    return static_cast<double>(choice % 5) - 2;
  };
}

Draw index_into(int table, int dim) {
  return [table, dim](std::mt19937& random, const Shapes& shapes, int64_t) {
    return static_cast<double>(random() % static_cast<uint64_t>(shapes[static_cast<size_t>(table)][dim]));
  };
}

Draw coin() {
  return [](std::mt19937& random, const Shapes&, int64_t) { return static_cast<double>(random() % 2); };
}

std::vector<DType> dtypes_of(Dtypes dtypes) {
  if (kThreadSanitizer) return {DType::kF32};  // how a kernel shares its work does not depend on the dtype
  std::vector<DType> result = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};
  const auto add = [&](std::initializer_list<DType> more) { result.insert(result.end(), more); };
  if (dtypes >= Dtypes::kSigned) add({DType::kI64, DType::kI32, DType::kI16, DType::kI8});
  if (dtypes >= Dtypes::kArithmetic) add({DType::kU8});
  if (dtypes >= Dtypes::kNumbers) add({DType::kBool});
  if (dtypes >= Dtypes::kAll) add({DType::kF8E4M3, DType::kF8E5M2});
  return result;
}

std::string describe(const OpCase& op_case, DType dtype, const Shapes& shapes) {
  std::string text = std::string(name_of(op_case.op)) + " " + op_case.what + " of " + name_of(dtype);
  for (const Shape& shape : shapes) text += std::string(" ") + ShapeText(shape).text;
  return text;
}

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> list = [] {
    std::vector<OpCase> all;
    for (const auto part : {unary_cases,
                            step_cases,
                            scalar_cases,
                            binary_cases,
                            compare_cases,
                            matmul_cases,
                            conv_cases,
                            conv3d_cases,
                            pool_cases,
                            pool3d_cases,
                            distance_cases,
                            image_cases,
                            reduce_cases,
                            product_cases,
                            vector_norm_cases,
                            min_max_cases,
                            softmax_cases,
                            norm_cases,
                            batch_norm_cases,
                            range_cases,
                            loss_cases,
                            class_loss_cases,
                            view_cases,
                            tile_cases,
                            join_cases,
                            index_cases,
                            random_cases,
                            select_cases,
                            upsample_cases,
                            fp8_cases,
                            format_cases,
                            attention_cases,
                            integer_cases,
                            gate_cases,
                            scatter_cases,
                            search_cases,
                            order_statistics_cases,
                            ctc_cases,
                            grid_cases}) {
      std::vector<OpCase> cases = part();
      std::move(cases.begin(), cases.end(), std::back_inserter(all));
    }
    return all;
  }();
  return list;
}

std::vector<const OpCase*> cases_of(Op op) {
  std::vector<const OpCase*> result;
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op == op) result.push_back(&op_case);
  }
  return result;
}

}  // namespace halftone
