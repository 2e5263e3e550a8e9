#include "parallel/replicate/power_sgd.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/scope.h"
#include "ops/ops.h"
#include "parallel/mesh/started_work.h"
#include "parallel/rounds/averages.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// Subtracted parts of a column may leave nothing of it: then it stays short instead of being noise.
constexpr double kSmallNorm = 1e-20;

// Makes the columns of x [rows, columns] orthonormal, or 0 where they depend on the columns before. Modified
// Gram-Schmidt in double on the CPU: the ranks have one x, and get one result. Returns false if x is not finite.
bool orthonormalize(const Tensor& x) {
  const int64_t rows = x.size(0), columns = x.size(1);
  std::vector<double> values(static_cast<size_t>(x.numel()));
  read_to_host(x, DType::kF64, values.data());
  const auto at = [&](int64_t row, int64_t column) -> double& {
    return values[static_cast<size_t>(row * columns + column)];
  };
  const auto dot = [&](int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += at(row, a) * at(row, b);
    return sum;
  };
  for (int64_t column = 0; column < columns; ++column) {
    const double before = std::sqrt(dot(column, column));
    for (int64_t other = 0; other < column; ++other) {
      const double share = dot(column, other);
      for (int64_t row = 0; row < rows; ++row) at(row, column) -= share * at(row, other);
    }
    const double norm = std::sqrt(dot(column, column));
    const bool is_dependent = norm <= kSmallNorm || norm < 1e-6 * before;  // the rest is rounding of f32
    for (int64_t row = 0; row < rows; ++row) at(row, column) = is_dependent ? 0.0 : at(row, column) / norm;
  }
  write_from_host(x, DType::kF64, values.data());
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// The next Q. A column of 0 would stay 0 for ever, so there the former one is kept.
void follow(const Tensor& made, const Tensor& q) {
  const int64_t rows = q.size(0), columns = q.size(1);
  std::vector<float> next(static_cast<size_t>(q.numel())), former(next.size());
  read_to_host(made, DType::kF32, next.data());
  read_to_host(q, DType::kF32, former.data());
  for (int64_t column = 0; column < columns; ++column) {
    bool is_zero = true;
    for (int64_t row = 0; row < rows; ++row) is_zero &= next[static_cast<size_t>(row * columns + column)] == 0.0f;
    if (!is_zero) continue;
    for (int64_t row = 0; row < rows; ++row) {
      const auto i = static_cast<size_t>(row * columns + column);
      next[i] = former[i];
    }
  }
  write_from_host(q, DType::kF32, next.data());
}

Tensor part_of(const Tensor& flat, int64_t begin, const Shape& shape) {
  return flat.as_strided(shape, contiguous_strides(shape), begin);
}

Tensor flat_memory(ContextDevice& device, int64_t size) {
  return full(device, DType::kF32, {size}, 0.0, Category::kCommunication);
}

void combine(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  launch("power_sgd", out.device(), &Kernels::elementwise, &ElementwiseKernels::binary, op, a.view(), b.view(),
         out.view());
}

// The memory of one parameter between steps.
struct Memory {
  Tensor error;  // f32 [n, m]: the part of the gradients that was not sent
  Tensor q;      // f32 [m, rank]
};

class PowerSgdHook;

// One gradient of a bucket that is compressed.
struct Matrix {
  Tensor target;  // [n, m] in the bucket
  Tensor m;       // f32 [n, m], with the error of the step before
  Tensor p;       // [n, rank]
  Tensor q;       // [m, rank]
  Memory* memory;
  bool is_finite = true;
};

class PowerSgd final : public Reduction {
 public:
  PowerSgd(const ReductionCall& call, PowerSgdHook& hook);
  bool advance() override;

 private:
  void sort_slots(const ReductionCall& call, PowerSgdHook& hook);
  void start_first(const ReductionCall& call);
  void multiply_back();
  void take_results();

  const PowerSgdOptions options_;
  const Exchange& exchange_;
  const CallOptions last_call_;
  std::vector<Matrix> matrices_;
  std::vector<Tensor> vectors_;  // in the bucket: sent as they are
  Tensor flat_p_, flat_q_, flat_vectors_;
  std::optional<StartedWork> p_work_, q_work_, vectors_work_;
};

class PowerSgdHook final : public ReductionHook {
 public:
  explicit PowerSgdHook(const PowerSgdOptions& options) : options_(options), plain_(average()) {}

  std::string name() const override {
    return "PowerSGD of rank " + std::to_string(options_.rank) + " from step " + std::to_string(options_.start_step) +
           " above rate " + std::to_string(options_.min_compression_rate) +
           (options_.has_error_feedback ? ", error feedback" : "") + (options_.has_warm_start ? ", warm start" : "");
  }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override {
    if (call.step <= options_.start_step) return plain_->start(call);
    return std::make_unique<PowerSgd>(call, *this);
  }
  int32_t status_factor(const Exchange&) const noexcept override { return 0; }

  const PowerSgdOptions& options() const noexcept { return options_; }
  Memory& memory(size_t parameter) { return memories_[parameter]; }

 private:
  const PowerSgdOptions options_;
  const Ref<ReductionHook> plain_;
  std::map<size_t, Memory> memories_;  // addresses stay
};

// Operations of a reduction are not part of a graph, and are computed in FP32.
struct PlainScope {
  PlainScope() {
    scope().grad_enabled = false;
    scope().autocast = nullptr;
  }
  ScopeGuard guard;
};

PowerSgd::PowerSgd(const ReductionCall& call, PowerSgdHook& hook)
    : options_(hook.options()), exchange_(call.exchange), last_call_(call.options(3)) {
  const PlainScope plain;
  sort_slots(call, hook);
  start_first(call);
}

void PowerSgd::sort_slots(const ReductionCall& call, PowerSgdHook& hook) {
  for (const GradientBuckets::Slot& slot : call.bucket.slots) {
    const int64_t n = slot.view.rank() > 1 ? slot.view.size(0) : 1;
    const int64_t m = n == 0 ? 0 : slot.view.numel() / n;
    const int64_t rank = std::min({options_.rank, n, m});
    const double sent = static_cast<double>(n + m) * static_cast<double>(rank) * options_.min_compression_rate;
    if (slot.view.rank() < 2 || sent >= static_cast<double>(n) * static_cast<double>(m)) {
      vectors_.push_back(slot.view);
      continue;
    }
    Memory& memory = hook.memory(slot.parameter);
    const Tensor target = slot.view.as_strided({n, m}, {m, 1}, slot.view.offset());
    Tensor with_error = converted(target, DType::kF32, Category::kCommunication);
    if (memory.error.defined()) combine(BinaryOp::kAdd, with_error, memory.error, with_error);
    if (!memory.q.defined() || !options_.has_warm_start) {
      memory.q = empty(target.device(), DType::kF32, {m, rank}, Category::kCommunication);
      // Not the context's seed: all ranks draw the same numbers.
      const uint64_t step = options_.has_warm_start ? 0 : call.step;
      fill_normal(memory.q, {.seed = step, .sequence = slot.parameter}, 0.0, 1.0);
      orthonormalize(memory.q);
    }
    matrices_.push_back({.target = target, .m = with_error, .p = {}, .q = {}, .memory = &memory});
  }
}

// P = M Q of all matrices in one message, the rest in another.
void PowerSgd::start_first(const ReductionCall& call) {
  int64_t p_size = 0, q_size = 0, rest = 0;
  for (const Matrix& matrix : matrices_) {
    p_size += matrix.m.size(0) * matrix.memory->q.size(1);
    q_size += matrix.m.size(1) * matrix.memory->q.size(1);
  }
  for (const Tensor& vector : vectors_) rest += vector.numel();
  ContextDevice& device = exchange_.device();
  flat_p_ = flat_memory(device, p_size);
  flat_q_ = flat_memory(device, q_size);
  flat_vectors_ = flat_memory(device, rest);
  int64_t p = 0, q = 0, begin = 0;
  for (Matrix& matrix : matrices_) {
    const int64_t rank = matrix.memory->q.size(1);
    matrix.p = part_of(flat_p_, p, {matrix.m.size(0), rank});
    matrix.q = part_of(flat_q_, q, {matrix.m.size(1), rank});
    copy(ops::matmul(matrix.m, matrix.memory->q), matrix.p);
    p += matrix.p.numel();
    q += matrix.q.numel();
  }
  for (const Tensor& vector : vectors_) {
    copy(vector, part_of(flat_vectors_, begin, vector.shape()));
    begin += vector.numel();
  }
  if (p_size > 0) p_work_.emplace(exchange_.start_all_reduce(flat_p_, ReduceOp::kSum, call.options(1)));
  if (rest > 0) vectors_work_.emplace(exchange_.start_all_reduce(flat_vectors_, ReduceOp::kAverage, call.options(2)));
}

bool PowerSgd::advance() {
  const PlainScope plain;
  if (p_work_) {
    p_work_->wait();
    p_work_.reset();
    multiply_back();
    return false;
  }
  if (q_work_) q_work_->wait();
  if (vectors_work_) vectors_work_->wait();
  take_results();
  return true;
}

// Q = M^T P
void PowerSgd::multiply_back() {
  for (Matrix& matrix : matrices_) {
    matrix.is_finite = orthonormalize(matrix.p);
    copy(ops::matmul(ops::transpose(matrix.m, 0, 1), matrix.p), matrix.q);
  }
  q_work_.emplace(exchange_.start_all_reduce(flat_q_, ReduceOp::kAverage, last_call_));
}

void PowerSgd::take_results() {
  for (const Matrix& matrix : matrices_) {
    const Tensor product = ops::matmul(matrix.p, ops::transpose(matrix.q, 0, 1));
    copy(product, matrix.target);
    if (!matrix.is_finite) {  // an overflow, which a gradient scaler expects, must not stay in the memory
      *matrix.memory = {};
      continue;
    }
    if (options_.has_warm_start) follow(matrix.q, matrix.memory->q);
    if (!options_.has_error_feedback) continue;
    combine(BinaryOp::kSubtract, matrix.m, product, matrix.m);
    matrix.memory->error = matrix.m;
  }
  int64_t begin = 0;
  for (const Tensor& vector : vectors_) {
    copy(part_of(flat_vectors_, begin, vector.shape()), vector);
    begin += vector.numel();
  }
}

}  // namespace

Ref<ReductionHook> power_sgd(const PowerSgdOptions& options) {
  if (options.rank < 1) {
    fail(Code::kInvalidArgument, "options", "PowerSGD of rank %lld, expected at least 1",
         static_cast<long long>(options.rank));
  }
  if (!(options.min_compression_rate > 0)) {
    fail(Code::kInvalidArgument, "options", "min_compression_rate=%g, expected more than 0",
         options.min_compression_rate);
  }
  return make_ref<PowerSgdHook>(options);
}

}  // namespace halftone::parallel
