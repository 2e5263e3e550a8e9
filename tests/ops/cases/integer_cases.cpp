// Whole quotients, remainders and bits.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

double remainder_of(double a, double b) { return a - b * std::floor(a / b); }
double quotient_of(double a, double b) { return std::floor(a / b); }

OpCase division_case(Op op, const char* what, BinaryCall call, double (*function)(double, double)) {
  return {
      .op = op, .what = what, .shapes = shapes_of_two(), .run = call_of_two(call), .reference = each_pair(function)};
}

// Numbers that every dtype has. They are on the jumps, where finite differences see no gradient.
OpCase whole_case(Op op, BinaryCall call, double (*function)(double, double)) {
  OpCase result = division_case(op, "of whole numbers", call, function);
  const Draw dividend = [](std::mt19937& random, const Shapes&, int64_t) {
    return static_cast<double>(random() % 41) - 20;
  };
  const Draw divisor = [](std::mt19937& random, const Shapes&, int64_t) {
    const double size = 1 + static_cast<double>(random() % 3);
    return random() % 2 == 0 ? size : -size;
  };
  result.inputs = {{dividend}, {divisor}};
  result.dtypes = Dtypes::kSigned;
  result.is_exact = true;
  result.has_gradient = false;
  return result;
}

// The quotient is at least 0.1 from a whole number, also after both are rounded to 16 bits.
OpCase real_case(Op op, BinaryCall call, double (*function)(double, double)) {
  OpCase result = division_case(op, "", call, function);
  const Draw dividend = [](std::mt19937& random, const Shapes&, int64_t) {
    return static_cast<double>(random() % 6) - 3 + std::uniform_real_distribution<double>(0.35, 0.65)(random);
  };
  result.inputs = {{dividend}, {uniform(0.96, 1.04)}};
  return result;
}

// The dtype is fixed, because runs are of floats, which have no bits. tests/vectors has the other dtypes.
template <DType dtype>
OpCase bits_case(Op op, BinaryCall call, int64_t (*function)(int64_t, int64_t)) {
  const Draw bits = [](std::mt19937& random, const Shapes&, int64_t) {
    return dtype == DType::kBool ? static_cast<double>(random() % 2) : static_cast<double>(random() % 2001) - 1000;
  };
  return {.op = op,
          .what = name_of(dtype),
          .inputs = {{bits, dtype}, {bits, dtype}},
          .shapes = shapes_of_two(),
          .run = call_of_two(call),
          .reference = each_pair([function](double a, double b) {
            return static_cast<double>(function(static_cast<int64_t>(a), static_cast<int64_t>(b)));
          }),
          .results = {[](DType) { return dtype; }},
          .is_exact = true,
          .has_gradient = false};
}

OpCase not_case() {
  OpCase result = bits_case<DType::kI32>(Op::kBitwiseNot, nullptr, nullptr);
  result.inputs.pop_back();
  result.shapes = shapes_of_one();
  result.run = call_of_one(ops::bitwise_not);
  result.reference = each([](double x) { return -1 - x; });
  return result;
}

template <DType dtype>
std::vector<OpCase> bits_cases() {
  return {bits_case<dtype>(Op::kBitwiseAnd, ops::bitwise_and, [](int64_t a, int64_t b) { return a & b; }),
          bits_case<dtype>(Op::kBitwiseOr, ops::bitwise_or, [](int64_t a, int64_t b) { return a | b; }),
          bits_case<dtype>(Op::kBitwiseXor, ops::bitwise_xor, [](int64_t a, int64_t b) { return a ^ b; })};
}

}  // namespace

std::vector<OpCase> integer_cases() {
  const auto fmod = [](double a, double b) { return std::fmod(a, b); };
  std::vector<OpCase> cases = {whole_case(Op::kFmod, ops::fmod, fmod),
                               real_case(Op::kFmod, ops::fmod, fmod),
                               whole_case(Op::kRemainder, ops::remainder, remainder_of),
                               real_case(Op::kRemainder, ops::remainder, remainder_of),
                               whole_case(Op::kFloorDivide, ops::floor_divide, quotient_of),
                               real_case(Op::kFloorDivide, ops::floor_divide, quotient_of),
                               not_case()};
  for (const std::vector<OpCase>& part : {bits_cases<DType::kI32>(), bits_cases<DType::kBool>()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

}  // namespace halftone
