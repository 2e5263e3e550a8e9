// Steps of one process that keeps its masters and moments in host memory or in a file (fsdp.h), beside steps of one
// that keeps them on the device, and beside the file traffic alone.
//   offload_bench [--path DIR] [--layers N] [--width N] [--batch N] [--threads N] [--rounds N]
// A GPT with context 128, FP32, AdamW, a unit for each block. In each round every contender runs once, in turn: the
// steps of the three processes; and reads and writes of plain files in pieces of 16 MiB, as many as a step with a file
// makes: it reads the masters in forward and in backward, and reads and writes masters and moments in the step. The
// bound is the larger of the kept step and the traffic alone. Ratios are the medians of the ratios within the rounds;
// the first contender of a round is another one each time. Processor time, of all threads, depends less on the load.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "comm/group/registry.h"
#include "nn/transformer/transformer.h"
#include "ops/ops.h"
#include "optim/adamw.h"
#include "parallel/shard/sharded.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

constexpr int64_t kContext = 128;
constexpr int64_t kVocabulary = 256;
constexpr size_t kPiece = size_t{16} << 20;

struct Setting {
  std::string path;
  int layers, width, batch, threads;
};

// Seconds of a step.
struct Times {
  double all, update, processors;
};

class Contender {
 public:
  Contender(const Setting& setting, parallel::Offload offload)
      : context_(make_context(setting.threads)),
        device_(context_->device("cpu")),
        group_(create_group("single", *context_,
                            {.device = device_.device, .store = nullptr, .name = "", .rank = 0, .size = 1})),
        model_(make_model(setting)),
        tokens_(full(device_, DType::kI64, {setting.batch, kContext}, 7.0)),
        targets_(full(device_, DType::kI64, {setting.batch * kContext}, 9.0)) {
    parallel::ShardedOptions options;
    options.units = {.path = {}, .kind = "transformer_block", .least_elements = 1};
    options.offload = offload;
    options.offload_directory = setting.path;
    sharded_ = parallel::Sharded::create(*group_, nullptr, *model_, options);
    const AdamwGroup adamw{.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};
    optimizer_ =
        make_ref<optim::AdamW>(optim::ParameterGroup{.parameters = model_->parameters(), .precision = {}}, adamw);
    step();
    device_.allocator->reset_peak();
  }

  Times step() {
    const Stopwatch watch(TimeOf::kWall), processors(TimeOf::kProcess);
    optimizer_->zero_grad();
    const Tensor logits = ops::reshape(model_->run(tokens_), {targets_.numel(), kVocabulary});
    run_backward(ops::cross_entropy(logits, targets_, Tensor(), {}), Tensor(), false);
    const double before_update = watch.seconds();
    optimizer_->step();
    return {watch.seconds(), watch.seconds() - before_update, processors.seconds()};
  }
  double peak_mib() const { return static_cast<double>(device_.allocator->stats().peak) / (1 << 20); }
  int64_t offloaded_bytes() const { return sharded_->offloaded_bytes(); }

 private:
  static Ref<Context> make_context(int threads) {
    ContextOptions options;
    options.num_threads = threads;
    return make_ref<Context>(options);
  }
  Ref<nn::Module> make_model(const Setting& setting) const {
    nn::TransformerOptions options;
    options.attention = {
        .width = setting.width, .heads = setting.width / 64, .kv_heads = setting.width / 64, .is_causal = true};
    options.attention.position_kind = nn::PositionKind::kLearned;
    options.hidden = 4 * setting.width;
    options.layers = setting.layers;
    options.vocabulary = kVocabulary;
    options.positions = kContext;
    return make_ref<nn::Transformer>(device_, options);
  }

  const Ref<Context> context_;
  ContextDevice& device_;
  const OwnedGroup group_;
  const Ref<nn::Module> model_;
  const Tensor tokens_;
  const Tensor targets_;
  Ref<parallel::Sharded> sharded_;
  Ref<optim::Optimizer> optimizer_;
};

// A file of its own, which was written before.
class Traffic {
 public:
  Traffic(const std::string& path, int64_t bytes) : size_(static_cast<size_t>(bytes)), buffer_(kPiece, 'x') {
    std::string name = path + "/offload-bench-XXXXXX";
    file_ = mkstemp(name.data());
    if (file_ < 0) {
      std::perror(name.c_str());
      std::exit(1);
    }
    unlink(name.c_str());
    move(size_, true);
  }
  ~Traffic() { close(file_); }

  // All state is read and written once, and a third of it, the masters, read twice more.
  double step() {
    const Stopwatch watch(TimeOf::kWall);
    move(size_ / 3, false);
    move(size_ / 3, false);
    move(size_, false);
    move(size_, true);
    return watch.seconds();
  }

 private:
  void move(size_t bytes, bool writes) {
    for (size_t done = 0; done < bytes; done += kPiece) {
      const size_t piece = std::min(kPiece, bytes - done);
      const auto at = static_cast<off_t>(done);
      const ssize_t moved = writes ? pwrite(file_, buffer_.data(), piece, at) : pread(file_, buffer_.data(), piece, at);
      if (moved != static_cast<ssize_t>(piece)) {
        std::perror("offload_bench");
        std::exit(1);
      }
    }
  }

  const size_t size_;
  int file_;
  std::vector<char> buffer_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int argc, char** argv) {
  CommandLine line(argc, argv,
                   "offload_bench [--path DIR] [--layers N] [--width N] [--batch N] [--threads N] [--rounds N]");
  const std::string path = line.text("--path");
  const Setting setting = {.path = path.empty() ? std::string(".") : path,
                           .layers = line.number("--layers", 6, 96),
                           .width = line.number("--width", 768, 8192),
                           .batch = line.number("--batch", 8, 1024),
                           .threads = line.number("--threads", 2, kMostThreads)};
  const int rounds = line.number("--rounds", 5, kMostRounds);
  line.finish();
  Contender kept(setting, parallel::Offload::kNone), host(setting, parallel::Offload::kHost),
      file(setting, parallel::Offload::kFile);
  Traffic traffic(setting.path, file.offloaded_bytes());
  Contender* const contenders[] = {&kept, &host, &file};
  std::vector<double> times[4], updates[4], processors[4], host_ratios, bound_ratios;
  for (int round = 0; round < rounds; ++round) {
    for (int turn = 0; turn < 3; ++turn) {
      const int i = (turn + round) % 3;
      const Times taken = contenders[i]->step();
      times[i].push_back(taken.all);
      updates[i].push_back(taken.update);
      processors[i].push_back(taken.processors);
    }
    const Stopwatch processor(TimeOf::kProcess);
    times[3].push_back(traffic.step());
    updates[3].push_back(0);
    processors[3].push_back(processor.seconds());
    host_ratios.push_back(times[1].back() / times[0].back());
    bound_ratios.push_back(times[2].back() / std::max(times[0].back(), times[3].back()));
  }
  std::printf("%-22s %9s %9s %9s %12s %10s\n", "", "best ms", "median ms", "update ms", "processor ms", "peak MiB");
  const char* const names[] = {"kept on the device", "in host memory", "in a file", "the file traffic alone"};
  const double peaks[] = {kept.peak_mib(), host.peak_mib(), file.peak_mib(), 0};
  for (int i = 0; i < 4; ++i) {
    std::printf("%-22s %9.1f %9.1f %9.1f %12.1f %10.1f\n", names[i],
                1e3 * *std::min_element(times[i].begin(), times[i].end()), 1e3 * median(times[i]),
                1e3 * median(updates[i]), 1e3 * median(processors[i]), peaks[i]);
  }
  std::printf("offloaded %.1f MiB; host memory / kept %.2f; file / larger of kept and traffic %.2f\n",
              static_cast<double>(file.offloaded_bytes()) / (1 << 20), median(host_ratios), median(bound_ratios));
  return 0;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) { return halftone::run(argc, argv); }
