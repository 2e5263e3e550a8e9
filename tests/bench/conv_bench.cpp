// Times the CPU convolution against our own GEMM on the equivalent matrix products, shape by shape:
//   conv_bench [--threads N] [--rounds N]
// In every round each contender runs once, in turn, so that other load on the machine affects all of them alike. A
// contender's time is the best of its rounds: CPU time if there is one thread, else wall time. Rates are
// GFLOP/s. The GEMM's operands are already unfolded and well aligned in memory, so the ratio shows the cost of the
// convolution's packing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "core/number/bfloat16.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

struct Options {
  int threads = 1;
  int rounds = 9;
};

struct Layer {
  const char* name;
  int64_t images;
  int64_t channels;
  int64_t filters;
  int64_t side;
  int64_t kernel;
  int64_t stride;
  int64_t padding;

  int64_t result_side() const { return (side + 2 * padding - kernel) / stride + 1; }
  int64_t positions() const { return images * result_side() * result_side(); }
  int64_t taps() const { return channels * kernel * kernel; }
  double flops() const { return 2.0 * static_cast<double>(positions() * taps()) * static_cast<double>(filters); }
};

// The sample's network, one layer without padding, and layers of ResNet-50.
constexpr Layer kLayers[] = {
    {"mnist 1-32 28", 128, 1, 32, 28, 3, 1, 1},       {"mnist 32-64 14", 128, 32, 64, 14, 3, 1, 1},
    {"32-64 26 valid", 128, 32, 64, 26, 3, 1, 0},     {"resnet 64-64 56", 8, 64, 64, 56, 3, 1, 1},
    {"resnet 256-256 14", 16, 256, 256, 14, 3, 1, 1}, {"resnet 1x1 256-64", 8, 256, 64, 56, 1, 1, 0},
    {"resnet 128 s2", 8, 128, 128, 56, 3, 2, 1},
};

constexpr const char* kPassNames[] = {"forward", "grad input", "grad weight"};
constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight};

// Values around 1, so that no product or sum is subnormal. 64 extra bytes for alignment.
class Array {
 public:
  Array(DType dtype, const Shape& shape) : bytes_(static_cast<size_t>(numel(shape)) * size_of(dtype) + 64) {
    void* data = bytes_.data();
    size_t space = bytes_.size();
    view_ = {std::align(64, 1, data, space), dtype, shape, contiguous_strides(shape)};
    for (int64_t i = 0; i < numel(shape); ++i) set(i, 0.75f + static_cast<float>(i * 7 % 64) / 64);
  }
  const View& view() const { return view_; }
  View transposed() const {
    View view = view_;
    std::swap(view.shape[0], view.shape[1]);
    std::swap(view.strides[0], view.strides[1]);
    return view;
  }

 private:
  void set(int64_t i, float value) {
    if (view_.dtype == DType::kF32) static_cast<float*>(view_.data)[i] = value;
    if (view_.dtype == DType::kBF16) static_cast<BFloat16*>(view_.data)[i] = BFloat16::from(value);
  }

  std::vector<std::byte> bytes_;
  View view_;
};

// Scratch memory of the size that a kernel requests.
class Workspace {
 public:
  explicit Workspace(size_t size) : bytes_(size + 64) {
    void* data = bytes_.data();
    size_t space = bytes_.size();
    data_ = std::align(64, size, data, space);
  }
  void* data() const { return data_; }

 private:
  std::vector<std::byte> bytes_;
  void* data_;
};

class ConvEntry {
 public:
  ConvEntry(const Layer& layer, ConvPass pass, DType dtype, Stream& stream)
      : pass_(pass),
        stream_(stream),
        input_(dtype, {layer.images, layer.channels, layer.side, layer.side}),
        weight_(pass == ConvPass::kGradWeight ? DType::kF32 : dtype,
                {layer.filters, layer.channels, layer.kernel, layer.kernel}),
        output_(dtype, {layer.images, layer.filters, layer.result_side(), layer.result_side()}),
        args_({.input = input_.view(), .weight = weight_.view(), .output = output_.view()}),
        workspace_(size_for(layer)) {}
  void run() { cpu::kConvKernels.run(stream_, pass_, args_, workspace_.data()); }

 private:
  size_t size_for(const Layer& layer) {
    for (int d = 0; d < 2; ++d) {
      args_.window.stride[d] = layer.stride;
      args_.window.padding[d] = layer.padding;
    }
    return cpu::kConvKernels.workspace(stream_, pass_, args_);
  }

  ConvPass pass_;
  Stream& stream_;
  Array input_;
  Array weight_;
  Array output_;
  ConvArgs args_;
  Workspace workspace_;
};

// forward: [filters, taps] [taps, positions]; input: [taps, filters] [filters, positions]; weight: [filters, positions]
// [positions, taps], FP32.
class GemmEntry {
 public:
  GemmEntry(const Layer& layer, ConvPass pass, DType dtype, Stream& stream)
      : stream_(stream),
        weight_(pass == ConvPass::kGradWeight ? DType::kF32 : dtype, {layer.filters, layer.taps()}),
        patches_(dtype, {layer.taps(), layer.positions()}),
        output_(dtype, {layer.filters, layer.positions()}),
        args_(args_of(pass)),
        workspace_(cpu::kGemmKernels.schedule(stream, args_).workspace) {}
  void run() { cpu::kGemmKernels.run(stream_, args_, cpu::kGemmKernels.schedule(stream_, args_), workspace_.data()); }

 private:
  GemmArgs args_of(ConvPass pass) const {
    if (pass == ConvPass::kForward) return {.a = weight_.view(), .b = patches_.view(), .c = output_.view()};
    if (pass == ConvPass::kGradInput) return {.a = weight_.transposed(), .b = output_.view(), .c = patches_.view()};
    return {.a = output_.view(), .b = patches_.transposed(), .c = weight_.view()};
  }

  Stream& stream_;
  Array weight_;
  Array patches_;
  Array output_;
  GemmArgs args_;
  Workspace workspace_;
};

template <class Entry>
double seconds(Entry& entry, TimeOf time_of) {
  const Stopwatch watch(time_of);
  entry.run();
  return watch.seconds();
}

// Prints one line and returns the ratio.
double measure(const Layer& layer, int pass, DType dtype, const Options& options) {
  ThreadPool pool(options.threads);
  cpu::CpuStream stream(pool);
  ConvEntry conv(layer, kPasses[pass], dtype, stream);
  GemmEntry gemm(layer, kPasses[pass], dtype, stream);
  const TimeOf time_of = options.threads == 1 ? TimeOf::kThread : TimeOf::kWall;
  double conv_best = HUGE_VAL;
  double gemm_best = HUGE_VAL;
  for (int round = 0; round < options.rounds; ++round) {
    conv_best = std::min(conv_best, seconds(conv, time_of));
    gemm_best = std::min(gemm_best, seconds(gemm, time_of));
  }
  std::printf("%-18s %-11s %-4s %9.1f %9.1f %6.2f\n", layer.name, kPassNames[pass], name_of(dtype),
              layer.flops() / conv_best * 1e-9, layer.flops() / gemm_best * 1e-9, gemm_best / conv_best);
  std::fflush(stdout);
  return gemm_best / conv_best;
}

void run(const Options& options) {
  std::printf("threads: %d; best of %d rounds\n%-18s %-11s %-4s %9s %9s %6s\n", options.threads, options.rounds,
              "layer", "pass", "", "conv", "gemm", "ratio");
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (int pass = 0; pass < 3; ++pass) {
      double sum = 0;
      for (const Layer& layer : kLayers) sum += std::log(measure(layer, pass, dtype, options));
      std::printf("%s, %s: geometric mean %.3f\n", kPassNames[pass], name_of(dtype),
                  std::exp(sum / static_cast<double>(std::size(kLayers))));
    }
  }
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "conv_bench [--threads N] [--rounds N]");
  Options options;
  options.threads = line.number("--threads", options.threads, kMostThreads);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  line.finish();
  return options;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) { halftone::run(halftone::parse(argc, argv)); }
