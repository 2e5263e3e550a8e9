// Times text generation with a cache of keys and values against running the whole context for each token:
//   generate_bench [--precision fp32|bf16] [--threads N] [--rounds N]
// The model is train_bench's GPT, with a context of 256. "last token" is the forward of token 256: one token with a
// cache of 256 positions, or all 256 tokens. "text" is htone_module_generate from 1 token to 256, per token; a
// sequential module around the model has no cache. In every round each contender runs once, in turn; a figure is the
// best of the rounds.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "bench/stopwatch.h"
#include "bench/train/models.h"

namespace halftone::bench {
namespace {

using htone::call;
using htone::make;
using htone::Tensor;

constexpr int64_t kContext = 256;

class Bench {
 public:
  Bench(const htone::Device& device, htone_dtype precision)
      : model_(make_gpt(device).module), cache_(make<Tensor>(htone_transformer_cache, model_, 1, kContext, precision)) {
    htone_module* const parts[] = {model_.get()};
    whole_ = make<htone::Module>(htone_module_create_sequential, 1, parts);
    call(htone_module_set_training, model_, 0);
    tokens_ = Tensor::from(device, {1, kContext}, std::vector<int64_t>(kContext, 7));
    last_ = make<Tensor>(htone_slice, tokens_, 1, kContext - 1, kContext, 1);
    first_ = make<Tensor>(htone_slice, tokens_, 1, 0, 1, 1);
  }

  double cached_token() const {
    htone_tensor* const inputs[] = {last_.get(), nullptr, cache_.get()};
    return milliseconds([&] {
      htone_tensor* out = nullptr;
      htone::check(htone_module_forward_n(model_.get(), 3, inputs, nullptr, 1, &out));
      htone_tensor_release(out);
    });
  }
  double whole_token() const {
    return milliseconds([&] { const auto logits = make<Tensor>(htone_module_forward, model_, tokens_, nullptr); });
  }
  double cached_text() const { return text_time(model_); }
  double whole_text() const { return text_time(whole_); }

 private:
  template <class Run>
  static double milliseconds(const Run& run) {
    const Stopwatch watch(TimeOf::kWall);
    run();
    return watch.seconds() * 1e3;
  }

  double text_time(const htone::Module& model) const {
    htone_generate_options options = HTONE_GENERATE_OPTIONS_INIT;
    options.new_tokens = kContext - 1;
    return milliseconds([&] { const auto text = make<Tensor>(htone_module_generate, model, first_, &options); }) /
           static_cast<double>(options.new_tokens);
  }

  htone::Module model_;
  htone::Module whole_;
  Tensor cache_, tokens_, last_, first_;
};

int run(int argc, char** argv) {
  CommandLine line(argc, argv, "generate_bench [--precision fp32|bf16] [--threads N] [--rounds N]");
  const int threads = line.number("--threads", 2, kMostThreads);
  const int rounds = line.number("--rounds", 5, kMostRounds);
  const bool is_bf16 = line.text("--precision") == "bf16";
  line.finish();
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  options.num_threads = threads;
  const auto device =
      make<htone::Device>(htone_device_create, make<htone::Context>(htone_context_create, &options), "cpu");
  const htone_dtype precision = is_bf16 ? HTONE_BF16 : HTONE_F32;
  const htone::Autocast autocast(make<htone::AutocastPolicy>(htone_autocast_policy_create, precision));
  const htone::NoGrad no_grad;
  const Bench bench(device, precision);
  double best[4];
  std::fill_n(best, 4, 1e300);
  for (int round = 0; round < rounds; ++round) {
    best[0] = std::min(best[0], bench.cached_token());
    best[1] = std::min(best[1], bench.whole_token());
    best[2] = std::min(best[2], bench.cached_text());
    best[3] = std::min(best[3], bench.whole_text());
  }
  std::printf(
      "ms a token, %s, %d threads: last token cached %.3f, whole %.3f, ratio %.1f; text cached %.3f, whole %.3f, "
      "ratio %.1f\n",
      is_bf16 ? "bf16" : "fp32", threads, best[0], best[1], best[1] / best[0], best[2], best[3], best[3] / best[2]);
  return 0;
}

}  // namespace
}  // namespace halftone::bench

int main(int argc, char** argv) { return halftone::bench::run(argc, argv); }
