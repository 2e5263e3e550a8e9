// Times kernels along columns of memory against the same work along rows:
//   column_bench [--threads N] [--rounds N]
// In every round both run once, in turn. The time is the best of the rounds: CPU time if there is one thread, else
// wall time. Times are nanoseconds per element.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

struct Options {
  int threads = 1;
  int rounds = 9;
};

// An FP32 or f64 array in row-major order, with values around 1.
class Array {
 public:
  Array(DType dtype, const Shape& shape) : words_(static_cast<size_t>(numel(shape)) * size_of(dtype) / 4 + 16) {
    view_ = {words_.data(), dtype, shape, contiguous_strides(shape)};
    if (dtype != DType::kF32) return;
    for (size_t i = 0; i < words_.size(); ++i) words_[i] = 0.75f + static_cast<float>(i * 7 % 64) / 64;
  }
  const View& view() const { return view_; }
  View transposed() const {
    View view = view_;
    std::swap(view.shape[0], view.shape[1]);
    std::swap(view.strides[0], view.strides[1]);
    return view;
  }

 private:
  std::vector<float> words_;
  View view_;
};

// One operation on `rows` x `columns` elements, along rows and along columns.
struct Contest {
  const char* name;
  std::function<void(Stream&)> along_rows;
  std::function<void(Stream&)> along_columns;
};

// Shared by the contests: an input, a gradient and a result of one shape, and arrays with one entry per row or column.
struct Arena {
  explicit Arena(int64_t side)
      : x(DType::kF32, {side, side}),
        grad(DType::kF32, {side, side}),
        out(DType::kF32, {side, side}),
        weight(DType::kF32, {side}),
        statistics(DType::kF64, {2, side}),
        sums(DType::kF32, {side / 16, side}),
        more_sums(DType::kF32, {side / 16, side}),
        row_results(DType::kF32, {side, 1}),
        column_results(DType::kF32, {1, side}),
        side(side) {}

  NormStatistics moments() const {
    View mean = statistics.view();
    mean.shape = {side};
    mean.strides = {1};
    View variance = mean;
    variance.data = static_cast<double*>(mean.data) + side;
    return {.mean = mean, .variance = variance};
  }
  RowNorm norm(bool by_channel) const {
    return {.epsilon = 1e-5, .rows = side, .groups = by_channel ? side : 1, .spatial = by_channel ? side : 1};
  }
  void normalise(Stream& stream, bool by_channel) const {
    cpu::kNormKernels.row_norm(stream, norm(by_channel), {by_channel ? x.transposed() : x.view()},
                               {.weight = weight.view(), .bias = weight.view()}, moments(),
                               by_channel ? out.transposed() : out.view());
  }
  void lead_back(Stream& stream, bool by_channel) const {
    cpu::kNormKernels.row_norm_backward(stream, norm(by_channel),
                                        {.grad_output = by_channel ? grad.transposed() : grad.view(),
                                         .x = by_channel ? x.transposed() : x.view(),
                                         .weight = weight.view(),
                                         .statistics = moments()},
                                        {.input = by_channel ? out.transposed() : out.view(),
                                         .weight_sums = sums.view(),
                                         .bias_sums = more_sums.view(),
                                         .pieces = side / 16});
  }

  Array x, grad, out, weight, statistics, sums, more_sums, row_results, column_results;
  int64_t side;
};

std::vector<Contest> contests_of(const Arena& a) {
  const auto softmax = [&a](auto entry, int dim) {
    return [&a, entry, dim](Stream& stream) { (cpu::kNormKernels.*entry)(stream, a.x.view(), dim, a.out.view()); };
  };
  const auto softmax_backward = [&a](auto entry, int dim) {
    return [&a, entry, dim](Stream& stream) {
      (cpu::kNormKernels.*entry)(stream, a.grad.view(), a.x.view(), dim, a.out.view());
    };
  };
  const auto log_sum_exp = [&a](const Array& result) {
    return [&](Stream& stream) { cpu::kReduceKernels.log_sum_exp(stream, a.x.view(), result.view()); };
  };
  const auto log_sum_exp_backward = [&a](const Array& result) {
    return [&](Stream& stream) {
      cpu::kReduceKernels.log_sum_exp_backward(stream, result.view(), a.x.view(), a.out.view());
    };
  };
  return {
      {"layer_norm / batch_norm", [&a](Stream& s) { a.normalise(s, false); },
       [&a](Stream& s) { a.normalise(s, true); }},
      {"their gradients", [&a](Stream& s) { a.lead_back(s, false); }, [&a](Stream& s) { a.lead_back(s, true); }},
      {"softmax", softmax(&NormKernels::softmax, 1), softmax(&NormKernels::softmax, 0)},
      {"its gradient", softmax_backward(&NormKernels::softmax_backward, 1),
       softmax_backward(&NormKernels::softmax_backward, 0)},
      {"log_softmax", softmax(&NormKernels::log_softmax, 1), softmax(&NormKernels::log_softmax, 0)},
      {"its gradient", softmax_backward(&NormKernels::log_softmax_backward, 1),
       softmax_backward(&NormKernels::log_softmax_backward, 0)},
      {"log_sum_exp", log_sum_exp(a.row_results), log_sum_exp(a.column_results)},
      {"its gradient", log_sum_exp_backward(a.row_results), log_sum_exp_backward(a.column_results)},
      {"mse / kl_div",
       [&a](Stream& s) { cpu::kLossKernels.loss(s, LossOp::kSquared, 1, a.x.view(), a.grad.view(), a.out.view()); },
       [&a](Stream& s) {
         cpu::kLossKernels.loss(s, LossOp::kKlDivergence, 1, a.x.view(), a.grad.view(), a.out.view());
       }},
  };
}

double seconds(const std::function<void(Stream&)>& call, Stream& stream, TimeOf time_of) {
  const Stopwatch watch(time_of);
  call(stream);
  return watch.seconds();
}

void measure(const Contest& contest, int64_t side, const Options& options) {
  ThreadPool pool(options.threads);
  cpu::CpuStream stream(pool);
  const TimeOf time_of = options.threads == 1 ? TimeOf::kThread : TimeOf::kWall;
  double rows = HUGE_VAL;
  double columns = HUGE_VAL;
  for (int round = 0; round < options.rounds; ++round) {
    rows = std::min(rows, seconds(contest.along_rows, stream, time_of));
    columns = std::min(columns, seconds(contest.along_columns, stream, time_of));
  }
  const double elements = static_cast<double>(side * side);
  std::printf("%5lld^2 %-24s %8.2f %8.2f %7.2f\n", static_cast<long long>(side), contest.name, rows / elements * 1e9,
              columns / elements * 1e9, columns / rows);
  std::fflush(stdout);
}

void run(const Options& options) {
  std::printf("threads: %d; best of %d rounds; ns an element\n%7s %-24s %8s %8s %7s\n", options.threads, options.rounds,
              "", "", "rows", "columns", "ratio");
  for (const int64_t side : {256, 2000, 2048}) {
    const Arena arena(side);
    for (const Contest& contest : contests_of(arena)) measure(contest, side, options);
  }
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "column_bench [--threads N] [--rounds N]");
  Options options;
  options.threads = line.number("--threads", options.threads, kMostThreads);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  line.finish();
  return options;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) { halftone::run(halftone::parse(argc, argv)); }
