#include "cpu/gemm/gemm_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "backend/formula/gelu.h"
#include "backend/formula/sigmoid.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

Shape strides_of(Order order, int64_t rows, int64_t columns) {
  switch (order) {
    case Order::kRows:
      return {columns, 1};
    case Order::kColumns:
      return {1, rows};
    case Order::kSlice:
      return {columns + 5, 1};
    case Order::kGaps:
      return {2 * columns + 3, 2};
  }
  return {};
}

HostTensor matrix(DType dtype, int64_t rows, int64_t columns, Order order) {
  return HostTensor(dtype, {rows, columns}, strides_of(order, rows, columns));
}

std::vector<double> values_of(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.get(i));
  return values;
}

// The relative distance of neighbouring values, and the smallest distance.
double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return NAN;
  }
}

double activated(GemmActivation activation, double x) {
  switch (activation) {
    case GemmActivation::kNone:
      return x;
    case GemmActivation::kRelu:
      return std::fmax(x, 0.0);
    case GemmActivation::kGeluErf:
      return gelu_erf(x);
    case GemmActivation::kGeluTanh:
      return gelu_tanh(x);
    case GemmActivation::kSilu:
      return silu(x);
  }
  return NAN;
}

double derivative(GemmActivation activation, double x) {
  switch (activation) {
    case GemmActivation::kNone:
      return 1;
    case GemmActivation::kRelu:
      return x > 0 ? 1 : 0;
    case GemmActivation::kGeluErf:
      return gelu_erf_derivative(x);
    case GemmActivation::kGeluTanh:
      return gelu_tanh_derivative(x);
    case GemmActivation::kSilu:
      return silu_derivative(x);
  }
  return NAN;
}

}  // namespace

GemmCase::GemmCase(const GemmShape& shape, const GemmDTypes& dtypes, Order a, Order b, Order c,
                   const GemmExtras& extras)
    : shape_(shape),
      extras_(extras),
      a_(matrix(dtypes.a, shape.m, shape.k, a)),
      b_(matrix(dtypes.b, shape.k, shape.n, b)),
      c_(matrix(dtypes.c, shape.m, shape.n, c)),
      bias_(extras.dtype, {shape.n}, {c == Order::kGaps ? 2 : 1}),
      residual_(matrix(extras.dtype, shape.m, shape.n, c)),
      sum_(matrix(dtypes.c, shape.m, shape.n, c)),
      argument_(matrix(extras.dtype, shape.m, shape.n, c)),
      sums_of_a_(extras.sums_dtype, {shape.m}, {c == Order::kGaps ? 2 : 1}) {
  a_.fill_uniform(-1, 1, 1);
  b_.fill_uniform(-1, 1, 2);
  c_.fill_uniform(-1, 1, 3);
  bias_.fill_uniform(-1, 1, 4);
  residual_.fill_uniform(-1, 1, 5);
  argument_.fill_uniform(-4, 4, 7);
  sums_of_a_.fill_uniform(-1, 1, 6);
  before_ = values_of(c_);
  sums_before_ = values_of(sums_of_a_);
  args_.a = a_.view();
  args_.b = b_.view();
  args_.c = c_.view();
  if (extras.bias) args_.bias = bias_.view();
  if (extras.residual) args_.residual = residual_.view();
  args_.store = extras.store;
  args_.activation = extras.activation;
  if (extras.sum) args_.sum = sum_.view();
  if (extras.argument) args_.argument = argument_.view();
  if (extras.sums_of_a) args_.sums_of_a = sums_of_a_.view();
  args_.sums_store = extras.sums_store;
}

void GemmCase::replace_operands(const View& a, const View& b) {
  args_.a = a;
  args_.b = b;
}

void GemmCase::run(int threads) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  const GemmSchedule schedule = cpu::kGemmKernels.schedule(stream, args_);
  const size_t size = schedule.workspace;
  const std::vector<std::byte> guard(64, std::byte{0x5a});
  // All floats of the workspace start as NaN, so a read before a write shows in the result.
  std::vector<std::byte> memory(size + 64 + 2 * guard.size(), std::byte{0xff});
  void* data = memory.data() + guard.size();
  size_t space = memory.size() - guard.size();
  std::byte* workspace = static_cast<std::byte*>(std::align(64, size, data, space));
  std::memcpy(workspace - guard.size(), guard.data(), guard.size());
  std::memcpy(workspace + size, guard.data(), guard.size());
  EXPECT_TRUE(cpu::kGemmKernels.run(stream, args_, schedule, workspace).ok());
  EXPECT_EQ(std::memcmp(workspace - guard.size(), guard.data(), guard.size()), 0) << "before the workspace";
  EXPECT_EQ(std::memcmp(workspace + size, guard.data(), guard.size()), 0) << "behind the workspace";
}

// `magnitude` is the sum of all terms' absolute values; rounding errors are relative to it.
double GemmCase::expected(const Values& a, const Values& b, int64_t row, int64_t column, double* magnitude) const {
  double sum = 0;
  double absolute = 0;
  for (int64_t p = 0; p < shape_.k; ++p) {
    const double product = a[static_cast<size_t>(row * shape_.k + p)] * b[static_cast<size_t>(p * shape_.n + column)];
    sum += product;
    absolute += std::fabs(product);
  }
  const int64_t index = row * shape_.n + column;
  const auto add = [&](bool wanted, double term) {
    sum += wanted ? term : 0;
    absolute += wanted ? std::fabs(term) : 0;
  };
  add(extras_.bias, bias_.get(column));
  add(extras_.residual, residual_.get(index));
  add(extras_.store == Store::kAdd, before_[static_cast<size_t>(index)]);
  *magnitude = absolute;
  return sum;
}

// A sum of k products has k roundings of the products (none with fused arithmetic) and k of the sums. Each is at most
// half an FP32 unit of the sum of magnitudes. Eight more cover bias, residual and c. Then c's dtype rounds once; 2^-25
// is half the smallest FP16.
bool GemmCase::expect_element(const HostTensor& output, int64_t i, double wanted, double error) const {
  const DType dtype = output.view().dtype;
  const double rounding = dtype == DType::kF64 ? 0 : epsilon_of(dtype) / 2;
  const double smallest = dtype == DType::kF16 ? 0x1p-25 : 0;
  const double bound = error + rounding * (std::fabs(wanted) + error) + smallest;
  const double got = output.get(i);
  if (std::fabs(got - wanted) <= bound) return true;
  const char* const name = &output == &c_ ? "c[" : &output == &sum_ ? "sum[" : "sums of a, c[";
  ADD_FAILURE() << name << i / shape_.n << ", " << i % shape_.n << "] = " << got << ", wanted " << wanted << " +- "
                << bound << "; m " << shape_.m << ", n " << shape_.n << ", k " << shape_.k;
  return false;
}

// Sums of a are added in trees; k roundings are more than they have.
void GemmCase::expect_sums_of_a(const Values& a, double unit) const {
  for (int64_t row = 0; row < shape_.m; ++row) {
    const auto first = a.begin() + row * shape_.k;
    double sum = extras_.sums_store == Store::kAdd ? sums_before_[static_cast<size_t>(row)] : 0;
    double magnitude = std::fabs(sum);
    for (auto value = first; value != first + shape_.k; ++value) {
      sum += *value;
      magnitude += std::fabs(*value);
    }
    const double error = (static_cast<double>(shape_.k) + 8) * unit * magnitude;
    if (!expect_element(sums_of_a_, row, sum, error)) return;
  }
}

// An activation is right within 2^-22 of its argument, and no slope of one is above 1.2. A derivative is right within
// 2^-22.
double GemmCase::finished(int64_t i, double wanted, double* error) const {
  if (extras_.activation == GemmActivation::kNone) return wanted;
  const double unit = c_.view().dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
  *error = 1.2 * *error + (4 * unit + extras_.activation_error) * std::fabs(wanted);
  if (!extras_.argument) return activated(extras_.activation, wanted);
  return wanted * derivative(extras_.activation, argument_.get(i));
}

void GemmCase::expect_right() const {
  const double unit = c_.view().dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
  const Values a = values_of(a_);
  const Values b = values_of(b_);
  int64_t wrong = 0;
  for (int64_t i = 0; i < c_.numel() && wrong < 5; ++i) {
    double magnitude = 0;
    const double wanted = expected(a, b, i / shape_.n, i % shape_.n, &magnitude);
    double error = (2.0 * static_cast<double>(shape_.k) + 16) * unit * magnitude;
    if (extras_.sum && !expect_element(sum_, i, wanted, error)) ++wrong;
    const double result = finished(i, wanted, &error);
    if (!expect_element(c_, i, result, error)) ++wrong;
  }
  if (extras_.sums_of_a) expect_sums_of_a(a, unit);
  EXPECT_TRUE(c_.guards_hold() && sum_.guards_hold() && sums_of_a_.guards_hold());
  EXPECT_TRUE(a_.guards_hold() && b_.guards_hold());
}

}  // namespace halftone
