// Times attention against the plain form of matmul, softmax and matmul, which stores all scores:
//   attention_bench [--threads N] [--rounds N]
// In every round each contender runs once, in turn, so that other load on the machine affects all of them alike. A
// contender's time is the best of its rounds: CPU time if there is one thread, else wall time. "training" is forward
// and backward. A causal mask is an added matrix for the plain form. Rates are GFLOP/s: 2 products of queries x keys x
// depth in forward and 5 in backward, half of them if causal. The last column is the rate of the FP32 matrix product of
// 1024 cubed in the same rounds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include "autograd/engine.h"
#include "autograd/leaf/accumulate_grad.h"
#include "autograd/scope.h"
#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "ops/ops.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

struct Options {
  int threads = 1;
  int rounds = 9;
};

struct Work {
  int64_t batch;
  int64_t heads;
  int64_t length;
  int64_t depth;

  double product_flops() const {
    return 2.0 * static_cast<double>(batch * heads * depth) * static_cast<double>(length) * static_cast<double>(length);
  }
};

constexpr Work kWorks[] = {{16, 8, 64, 64}, {8, 8, 256, 64}, {2, 8, 512, 64}, {2, 4, 1024, 128}, {1, 4, 2048, 64}};
constexpr int64_t kProductSide = 1024;

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), context_(make_ref<Context>(context_options(options))), device_(context_->device("cpu")) {}

  void measure(const Work& work, DType dtype, bool is_causal) {
    const Shape shape = {work.batch, work.heads, work.length, work.depth};
    Tensor inputs[3];
    for (Tensor& input : inputs) {
      input = empty(device_, dtype, shape);
      fill_uniform(input, context_->next_key(), -1, 1);
      set_requires_grad(input, true);
    }
    const Tensor gradient = full(device_, dtype, shape, 1.0);
    const Tensor mask = is_causal ? causal_mask(dtype, work.length) : Tensor();
    const auto fused = [&] {
      return ops::scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], Tensor(), {.is_causal = is_causal});
    };
    const double scale = 1 / std::sqrt(static_cast<double>(work.depth));
    const auto plain = [&] {
      Tensor scores = ops::mul_scalar(ops::matmul(inputs[0], ops::transpose(inputs[1], 2, 3)), scale);
      if (is_causal) scores = ops::add(scores, mask);
      return ops::matmul(ops::softmax(scores, 3), inputs[2]);
    };
    const auto train = [&](const auto& forward) {
      run_backward(forward(), gradient, false);
      for (const Tensor& input : inputs) accumulator_of(input)->zero_grad();
    };
    double best[5];
    std::fill_n(best, 5, HUGE_VAL);
    for (int round = 0; round < options_.rounds; ++round) {
      best[0] = std::min(best[0], seconds([&] { infer(fused); }));
      best[1] = std::min(best[1], seconds([&] { infer(plain); }));
      best[2] = std::min(best[2], seconds([&] { train(fused); }));
      best[3] = std::min(best[3], seconds([&] { train(plain); }));
      best[4] = std::min(best[4], seconds([&] { multiply(); }));
    }
    print(work, dtype, is_causal, best);
  }

 private:
  static ContextOptions context_options(const Options& options) {
    ContextOptions result;
    result.num_threads = options.threads;
    return result;
  }

  Tensor causal_mask(DType dtype, int64_t length) {
    std::vector<double> values(static_cast<size_t>(length * length), 0.0);
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t j = i + 1; j < length; ++j) {
        values[static_cast<size_t>(i * length + j)] = -std::numeric_limits<double>::infinity();
      }
    }
    return converted(from_host(device_, DType::kF64, {length, length}, values.data()), dtype);
  }

  template <class F>
  double seconds(const F& run) {
    const Stopwatch watch(options_.threads == 1 ? TimeOf::kThread : TimeOf::kWall);
    run();
    return watch.seconds();
  }

  template <class F>
  static void infer(const F& forward) {
    const ScopeGuard restore;
    scope().grad_enabled = false;
    forward();
  }

  void multiply() {
    const ScopeGuard restore;
    scope().grad_enabled = false;
    ops::matmul(square_, square_);
  }

  static void print(const Work& work, DType dtype, bool is_causal, const double* best) {
    const double products = (is_causal ? 0.5 : 1.0) * work.product_flops() * 1e-9;
    const double side = static_cast<double>(kProductSide);
    std::printf("%3lld x %lld x %4lld x %3lld %-4s %-6s | %7.2f %7.2f %5.2f %6.1f | %7.2f %7.2f %5.2f %6.1f | %6.1f\n",
                static_cast<long long>(work.batch), static_cast<long long>(work.heads),
                static_cast<long long>(work.length), static_cast<long long>(work.depth), name_of(dtype),
                is_causal ? "causal" : "", best[0] * 1e3, best[1] * 1e3, best[1] / best[0], 2 * products / best[0],
                best[2] * 1e3, best[3] * 1e3, best[3] / best[2], 7 * products / best[2],
                2e-9 * side * side * side / best[4]);
    std::fflush(stdout);
  }

  Options options_;
  Ref<Context> context_;
  ContextDevice& device_;
  Tensor square_ = full(device_, DType::kF32, {kProductSide, kProductSide}, 1.0);
};

void run(const Options& options) {
  std::printf("threads: %d; best of %d rounds; forward, then training: ms fused, ms plain, ratio, GFLOP/s; GEMM\n",
              options.threads, options.rounds);
  Bench bench(options);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Work& work : kWorks) {
      for (const bool is_causal : {false, true}) bench.measure(work, dtype, is_causal);
    }
  }
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "attention_bench [--threads N] [--rounds N]");
  Options options;
  options.threads = line.number("--threads", options.threads, kMostThreads);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  line.finish();
  return options;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) { halftone::run(halftone::parse(argc, argv)); }
