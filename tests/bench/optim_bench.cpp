// Times the optimizer's passes against plain loops that are limited by memory bandwidth:
//   optim_bench [--threads N] [--rounds N] [--set NAME]
// In every round each contender runs once, in turn, so that other load on the machine affects all of them alike. The
// bound of a contender is the number of bytes that it moves, divided by the bandwidth of the first one, a plain loop
// that updates in place. Ratios to it are those of the best rounds, and the median of the ratios in each round. One
// thread is timed by its own clock.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/chunks.h"
#include "bench/command_line.h"
#include "bench/plain_loops.h"
#include "bench/stopwatch.h"
#include "core/host_memory.h"
#include "core/number/bfloat16.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone {
namespace {

struct Options {
  int threads = 2;
  int rounds = 15;
  std::string set;
};

// `count` tensors of `size` elements, adjacent in memory.
struct Set {
  const char* name;
  int64_t count;
  int64_t size;
  int64_t elements() const { return count * size; }
};
constexpr Set kSets[] = {
    {"50M", 1, 50'000'000}, {"100x100k", 100, 100'000}, {"10M", 1, 10'000'000}, {"1M", 1, 1'000'000}};

// Memory as the library's tensors get it: in huge pages if the system provides them, written once before any timing.
template <class T>
class Array {
 public:
  template <class F>
  Array(int64_t size, F&& value) : bytes_(static_cast<size_t>(size) * sizeof(T)) {
    data_ = static_cast<T*>(system_memory().allocate(nullptr, bytes_, 64));
    if (data_ == nullptr) std::abort();
    for (int64_t i = 0; i < size; ++i) data_[i] = value(i);
  }
  ~Array() { system_memory().deallocate(nullptr, data_, bytes_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* data() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

// Gradients of both signs between 2^-7 and 2^-6, in a random order, so that nothing is subnormal and codes differ.
float gradient(int64_t i) {
  const uint32_t word = static_cast<uint32_t>(i) * 2654435761u;
  return (1.0f + static_cast<float>(word >> 8) * 0x1p-24f) * ((word & 128) != 0 ? 0x1p-7f : -0x1p-7f);
}

// All arrays that any contender needs.
struct Memory {
  explicit Memory(int64_t n)
      : grad(n, gradient),
        grad16(n, [](int64_t i) { return BFloat16::from(gradient(i)); }),
        master(n, [](int64_t) { return 0.5f; }),
        moment1(n, [](int64_t) { return 0.0f; }),
        moment2(n, [](int64_t) { return 0x1p-12f; }),
        copy(n, [](int64_t) { return uint16_t{0x3f00}; }),
        remainder(n, [](int64_t) { return int16_t{0}; }),
        moment16(n, [](int64_t) { return uint16_t{0}; }),
        codes1(n, [](int64_t) { return int8_t{0}; }),
        codes2(n, [](int64_t) { return uint8_t{200}; }),
        scales1(n / kBlockSize + 200, [](int64_t) { return 0.0f; }),
        scales2(n / kBlockSize + 200, [](int64_t) { return 0x1p-10f; }) {}

  Array<float> grad;
  Array<BFloat16> grad16;
  Array<float> master, moment1, moment2;
  Array<uint16_t> copy;
  Array<int16_t> remainder;
  Array<uint16_t> moment16;
  Array<int8_t> codes1;
  Array<uint8_t> codes2;
  Array<float> scales1, scales2;
};

// An optimizer over a set: slots as the library builds them, and the state of its steps.
class Optimizer {
 public:
  // `slot`(tensor's first element, its first block) returns pointers and dtypes.
  template <class F>
  Optimizer(const Set& set, F&& slot) {
    const int64_t blocks = (set.size + kBlockSize - 1) / kBlockSize;
    for (int64_t i = 0; i < set.count; ++i) {
      updates_.push_back(slot(i * set.size, i * blocks));
      updates_.back().size = set.size;
      updates_.back().parameter = static_cast<int32_t>(i);
      const UpdateSlot& update = updates_.back();
      grads_.push_back({update.grad, update.grad_dtype, update.parameter, update.size});
    }
    chunks_ = plan_chunks(std::vector<int64_t>(static_cast<size_t>(set.count), set.size));
    partials_.resize(chunks_.size());
    for (const Chunk& chunk : chunks_) {
      const int64_t blocks_of_chunk = (chunk.end - chunk.begin + kBlockSize - 1) / kBlockSize;
      nodes_.push_back({.parameter = chunk.slot, .first_block = chunk.begin / kBlockSize, .blocks = blocks_of_chunk});
    }
  }

  void adamw(Stream& stream) {
    cpu::kOptimKernels.begin_step(stream, {}, {}, &state_);
    cpu::kOptimKernels.adamw(stream, list(updates_), &kAdamw, &state_);
    cpu::kOptimKernels.edit_state(stream, {.kind = StateEditKind::kEndStep}, &state_);
  }
  void sgd(Stream& stream) {
    cpu::kOptimKernels.begin_step(stream, {}, {}, &state_);
    cpu::kOptimKernels.sgd(stream, list(updates_), &kSgd, &state_);
    cpu::kOptimKernels.edit_state(stream, {.kind = StateEditKind::kEndStep}, &state_);
  }
  void check(Stream& stream) {
    cpu::kOptimKernels.grad_norm(stream, list(grads_), partials_.data(), &state_);
    cpu::kOptimKernels.sum_norm(stream, nodes_.data(), partials_.data(), static_cast<int64_t>(nodes_.size()), &state_);
    cpu::kOptimKernels.edit_state(stream, {.kind = StateEditKind::kUnscale, .scaler = &scaler_}, &state_);
    cpu::kOptimKernels.edit_state(stream, {.kind = StateEditKind::kClipByNorm, .value = 1.0}, &state_);
  }

 private:
  static constexpr AdamwGroup kAdamw = {1e-4, 0.9, 0.999, 1e-8, 0.01};
  static constexpr SgdGroup kSgd = {1e-4, 0.9, 0.0, 0.0, 0, 0};

  template <class Slot>
  MultiTensor<Slot> list(const std::vector<Slot>& slots) const {
    return {slots.data(), chunks_.data(), static_cast<int64_t>(slots.size()), static_cast<int64_t>(chunks_.size())};
  }

  std::vector<UpdateSlot> updates_;
  std::vector<GradSlot> grads_;
  std::vector<Chunk> chunks_;
  std::vector<NormNode> nodes_;
  std::vector<double> partials_;
  OptimizerState state_;
  ScalerState scaler_;
};

volatile float sink;  // loops write their result here, so the compiler cannot remove them

struct Contender {
  const char* name;
  double bytes;  // moved per element
  std::function<void()> run;
};

// The layouts that optimizers give their slots.
struct Layouts {
  const Memory& memory;

  UpdateSlot plain(int64_t at) const {
    UpdateSlot slot = {};
    slot.grad = memory.grad.data() + at;
    slot.grad_dtype = DType::kF32;
    slot.master = memory.master.data() + at;
    return slot;
  }
  UpdateSlot full(int64_t at) const {
    UpdateSlot slot = plain(at);
    slot.moment1 = {memory.moment1.data() + at, nullptr, DType::kF32};
    slot.moment2 = {memory.moment2.data() + at, nullptr, DType::kF32};
    return slot;
  }
  UpdateSlot full_with_copy(int64_t at) const {
    UpdateSlot slot = full(at);
    slot.compute = memory.copy.data() + at;
    slot.compute_dtype = DType::kBF16;
    return slot;
  }
  UpdateSlot coded(int64_t at, int64_t block) const {
    UpdateSlot slot = plain(at);
    slot.moment1 = {memory.codes1.data() + at, memory.scales1.data() + block, DType::kI8};
    slot.moment2 = {memory.codes2.data() + at, memory.scales2.data() + block, DType::kU8};
    return slot;
  }
  UpdateSlot momentum(int64_t at) const {
    UpdateSlot slot = full(at);
    slot.moment2 = {};
    return slot;
  }
  UpdateSlot split(int64_t at) const {
    UpdateSlot slot = full_with_copy(at);
    slot.grad = memory.grad16.data() + at;
    slot.grad_dtype = DType::kBF16;
    slot.master = nullptr;
    slot.remainder = memory.remainder.data() + at;
    slot.moment1 = {memory.moment16.data() + at, nullptr, DType::kBF16};
    return slot;
  }
};

std::vector<Contender> contenders(const Set& set, const Memory& memory, cpu::CpuStream& stream) {
  const PlainStreams streams = {set.elements() / 64 * 64, memory.grad.data(),    memory.master.data(),
                                memory.moment1.data(),    memory.moment2.data(), memory.copy.data()};
  const Layouts layouts{memory};
  const auto optimizer = [&](auto&& slot) { return std::make_shared<Optimizer>(set, slot); };
  const auto full = optimizer([&](int64_t at, int64_t) { return layouts.full(at); });
  const auto copied = optimizer([&](int64_t at, int64_t) { return layouts.full_with_copy(at); });
  const auto coded = optimizer([&](int64_t at, int64_t block) { return layouts.coded(at, block); });
  const auto split = optimizer([&](int64_t at, int64_t) { return layouts.split(at); });
  const auto momentum = optimizer([&](int64_t at, int64_t) { return layouts.momentum(at); });
  ThreadPool& pool = stream.pool();
  return {
      {"plain loop in place", 28, [=, &pool] { plain_update(pool, streams); }},
      {"plain loop that reads", 4, [=, &pool] { sink = plain_read(pool, streams); }},
      {"plain loops of the phase", 34,
       [=, &pool] {
         sink = plain_read(pool, streams);
         plain_update_with_copy(pool, streams);
       }},
      {"AMP phase", 34,
       [=, &stream] {
         copied->check(stream);
         copied->adamw(stream);
       }},
      {"  check and norm", 4, [=, &stream] { copied->check(stream); }},
      {"  update and copy", 30, [=, &stream] { copied->adamw(stream); }},
      {"AMP phase, split, BF16 g m", 24,
       [=, &stream] {
         split->check(stream);
         split->adamw(stream);
       }},
      {"AdamW FP32", 28, [=, &stream] { full->adamw(stream); }},
      {"AdamW 8-bit moments", 16 + 16.0 / kBlockSize, [=, &stream] { coded->adamw(stream); }},
      {"SGD with momentum", 20, [=, &stream] { momentum->sgd(stream); }},
  };
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void print_load() {
  double load[3] = {};
  getloadavg(load, 3);
  std::printf("load %.1f\n", load[0]);
}

void measure(const Set& set, const Options& options, cpu::CpuStream& stream) {
  const Memory memory(set.elements());
  const std::vector<Contender> all = contenders(set, memory, stream);
  const int repeats = static_cast<int>(std::max<int64_t>(1, 5'000'000 / set.elements()));
  std::vector<std::vector<double>> seconds(all.size());
  for (int round = 0; round <= options.rounds; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      const Stopwatch watch(options.threads == 1 ? TimeOf::kThread : TimeOf::kWall);
      for (int n = 0; n < repeats; ++n) all[i].run();
      if (round > 0) seconds[i].push_back(watch.seconds() / repeats);  // the first round warms up
    }
  }
  std::printf("%s: %d threads, %d rounds; best and median ms, GB/s of the best, time / bound by best and by median\n",
              set.name, options.threads, options.rounds);
  const double best_in_place = *std::min_element(seconds[0].begin(), seconds[0].end());
  for (size_t i = 0; i < all.size(); ++i) {
    const double best = *std::min_element(seconds[i].begin(), seconds[i].end());
    const double share = all[0].bytes / all[i].bytes;
    std::vector<double> ratios;
    for (size_t r = 0; r < seconds[i].size(); ++r) ratios.push_back(seconds[i][r] / seconds[0][r] * share);
    std::printf("  %-28s %8.3f %8.3f %7.1f %7.3f %7.3f\n", all[i].name, best * 1e3, median(seconds[i]) * 1e3,
                all[i].bytes * static_cast<double>(set.elements()) / best * 1e-9, best / best_in_place * share,
                median(ratios));
  }
  print_load();
}

Options parse(int argc, char** argv) {
  CommandLine line(argc, argv, "optim_bench [--threads N] [--rounds N] [--set NAME]");
  Options options;
  options.threads = line.number("--threads", options.threads, kMostThreads);
  options.rounds = line.number("--rounds", options.rounds, kMostRounds);
  options.set = line.text("--set");
  line.finish();
  return options;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  const halftone::Options options = halftone::parse(argc, argv);
  halftone::ThreadPool pool(options.threads);
  halftone::cpu::CpuStream stream(pool);
  halftone::print_load();
  bool measured = false;
  for (const halftone::Set& set : halftone::kSets) {
    if (!options.set.empty() && options.set != set.name) continue;
    halftone::measure(set, options, stream);
    measured = true;
  }
  if (!measured) std::fprintf(stderr, "optim_bench: there is no set named %s\n", options.set.c_str());
  return measured ? 0 : 2;
}
