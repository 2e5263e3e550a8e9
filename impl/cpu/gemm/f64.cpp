#include "cpu/gemm/f64.h"

#include <algorithm>

#include "backend/formula/gelu.h"
#include "backend/formula/sigmoid.h"
#include "cpu/gemm/plan.h"

namespace halftone::cpu {
namespace {

constexpr int64_t kRowBlock = 16;
constexpr int64_t kColumnBlock = 64;
// About 5 us of multiply-adds at one per cycle: less is not worth a second thread.
constexpr int64_t kSmallWork = int64_t{1} << 14;

double& element(const View& view, int64_t row, int64_t column) {
  return static_cast<double*>(view.data)[row * view.strides[0] + column * view.strides[1]];
}

double activated(GemmActivation activation, double x) {
  switch (activation) {
    case GemmActivation::kNone:
      return x;
    case GemmActivation::kRelu:
      return x <= 0 ? 0 : x;
    case GemmActivation::kGeluErf:
      return gelu_erf(x);
    case GemmActivation::kGeluTanh:
      return gelu_tanh(x);
    case GemmActivation::kSilu:
      return silu(x);
  }
  return x;
}

// The sum times the activation's derivative at x.
double sloped(GemmActivation activation, double sum, double x) {
  switch (activation) {
    case GemmActivation::kNone:
      return sum;
    case GemmActivation::kRelu:
      return x <= 0 ? 0 : sum;
    case GemmActivation::kGeluErf:
      return sum * gelu_erf_derivative(x);
    case GemmActivation::kGeluTanh:
      return sum * gelu_tanh_derivative(x);
    case GemmActivation::kSilu:
      return sum * silu_derivative(x);
  }
  return sum;
}

void multiply_row(const GemmArgs& args, int64_t row, int64_t column, int64_t columns) {
  double sums[kColumnBlock] = {};
  for (int64_t p = 0; p < args.a.shape[1]; ++p) {
    const double a = element(args.a, row, p);
    const double* b = &element(args.b, p, column);
    for (int64_t j = 0; j < columns; ++j) sums[j] += a * b[j * args.b.strides[1]];
  }
  for (int64_t j = 0; j < columns; ++j) {
    double value = sums[j];
    if (args.bias.data != nullptr) value += static_cast<double*>(args.bias.data)[(column + j) * args.bias.strides[0]];
    if (args.residual.data != nullptr) value += element(args.residual, row, column + j);
    if (args.sum.data != nullptr) element(args.sum, row, column + j) = value;
    const bool is_backward = args.argument.data != nullptr;
    value = is_backward ? sloped(args.activation, value, element(args.argument, row, column + j))
                        : activated(args.activation, value);
    double& c = element(args.c, row, column + j);
    c = args.store == Store::kAdd ? c + value : value;
  }
}

void store_sum(const GemmArgs& args, int64_t row) {
  double sum = 0;
  for (int64_t p = 0; p < args.a.shape[1]; ++p) sum += element(args.a, row, p);
  double& out = static_cast<double*>(args.sums_of_a.data)[row * args.sums_of_a.strides[0]];
  out = args.sums_store == Store::kAdd ? out + sum : sum;
}

}  // namespace

void gemm_f64(ThreadPool& pool, const GemmArgs& args) noexcept {
  const int64_t m = args.c.shape[0];
  const int64_t n = args.c.shape[1];
  const int64_t column_blocks = ceil_div(n, kColumnBlock);
  const auto multiply_block = [&](int64_t chunk, int) {
    const int64_t column = chunk % column_blocks * kColumnBlock;
    const int64_t row = chunk / column_blocks * kRowBlock;
    for (int64_t i = row; i < std::min(row + kRowBlock, m); ++i) {
      multiply_row(args, i, column, std::min(kColumnBlock, n - column));
      if (args.sums_of_a.data != nullptr && column == 0) store_sum(args, i);
    }
  };
  const int64_t chunks = column_blocks * ceil_div(m, kRowBlock);
  if (m * n * args.a.shape[1] > kSmallWork) return pool.parallel_for(chunks, multiply_block);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) multiply_block(chunk, 0);
}

}  // namespace halftone::cpu
