// Predicts how long the messages of one training step take, for groups and networks that are not at hand, by the model
// of comm/collectives/algorithm.h:
//   step_prediction
// Prints the table of docs/many-processes.md. Each operation runs by the algorithm that a group would choose. Weights
// and gradients are FP32. One rank uses one link alone. Operations follow each other, as a group runs them; the
// computation beside them, which hides a part, and the additions of sums are not in it.
#include <cstdio>
#include <iterator>
#include <numeric>
#include <vector>

#include "comm/collectives/algorithm.h"
#include "parallel/rounds/bucket_plan.h"

namespace halftone {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr int64_t kElement = sizeof(float);
constexpr int32_t kRanks[] = {8, 32, 128, 512, 1024};

struct Link {
  const char* name;
  LinkCost cost;
};

// Assumed: nine tenths of the line rate, and the time of a message through the system's TCP, or through InfiniBand's
// own interface.
constexpr LinkCost cost_of(double gigabits, double message_us, double next_us) {
  return {.message_ns = 1e3 * message_us, .next_ns = 1e3 * next_us, .byte_ns = 8 / (0.9 * gigabits)};
}
constexpr Link kLinks[] = {{"Ethernet, 10 Gbit/s", cost_of(10, 50, 5)},
                           {"Ethernet, 100 Gbit/s", cost_of(100, 20, 2)},
                           {"InfiniBand, 400 Gbit/s", cost_of(400, 5, 0.5)}};

struct Model {
  const char* name;
  int64_t layers;
  int64_t width;
  int64_t vocabulary = 50257;
  int64_t context = 1024;
};
constexpr Model kModels[] = {{"GPT-2, 124 million", 12, 768}, {"GPT-2, 1.5 billion", 48, 1600}};

// The parameters of one transformer block, in the order of their registration.
std::vector<int64_t> block_of(const Model& model) {
  const int64_t w = model.width;
  return {w, w, 3 * w * w, 3 * w, w * w, w, w, w, 4 * w * w, 4 * w, 4 * w * w, w};
}

// The parameters outside the blocks: the embeddings of tokens, which the output shares, and of places; the last norm.
std::vector<int64_t> rest_of(const Model& model) {
  return {model.vocabulary * model.width, model.context * model.width, model.width, model.width};
}

int64_t sum_of(const std::vector<int64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }

// The operations of a group of one size over one link. `elements` are those of all ranks together.
class Group {
 public:
  Group(const Link& link, int32_t size) : cost_(link.cost), size_(size) {}

  double all_reduce(int64_t elements) const { return seconds(Operation::kAllReduce, elements * kElement); }
  double reduce_scatter(int64_t elements) const { return seconds(Operation::kReduceScatter, elements * kElement); }
  double all_gather(int64_t elements) const { return seconds(Operation::kAllGather, elements * kElement / size_); }

 private:
  double seconds(Operation operation, int64_t bytes) const {
    const Algorithm algorithm = fastest(operation, bytes, size_, cost_);
    return predicted_ns(operation, algorithm, bytes, size_, cost_) / kNsPerSecond;
  }

  LinkCost cost_;
  int32_t size_;
};

// Gradients are averaged in buckets, the last parameters first.
double replicate(const Model& model, const Group& group) {
  std::vector<parallel::GradientSize> gradients;
  std::vector<size_t> order;
  const auto add = [&](int64_t size) { gradients.push_back({.dtype = DType::kF32, .numel = size}); };
  const std::vector<int64_t> rest = rest_of(model);
  for (size_t i = 0; i < 2; ++i) add(rest[i]);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    for (const int64_t size : block_of(model)) add(size);
  }
  for (size_t i = 2; i < rest.size(); ++i) add(rest[i]);
  for (size_t i = gradients.size(); i-- > 0;) order.push_back(i);
  double total = 0;
  for (const parallel::PlannedBucket& bucket : parallel::plan_buckets(gradients, order, {}, 0)) {
    total += group.all_reduce(bucket.size);
  }
  return total;
}

// Blocks are units. Each unit's gradients are averaged once, and its weights are gathered `block_gathers` times; those
// outside the blocks stay for the step.
double share(const Model& model, const Group& group, int block_gathers) {
  const int64_t block = sum_of(block_of(model)), rest = sum_of(rest_of(model));
  const double of_block = group.reduce_scatter(block) + block_gathers * group.all_gather(block);
  return static_cast<double>(model.layers) * of_block + group.reduce_scatter(rest) + group.all_gather(rest);
}

// In forward all weights are gathered once; with full sharding a block's are again in backward.
struct Kind {
  const char* name;
  double (*predict)(const Model& model, const Group& group);
};
constexpr Kind kKinds[] = {
    {"ddp", replicate},
    {"optimizer, gradients", [](const Model& model, const Group& group) { return share(model, group, 1); }},
    {"full", [](const Model& model, const Group& group) { return share(model, group, 2); }},
};

void print_row(const Model& model, const Link& link, const Kind& kind) {
  std::printf("| %s | %s | %s |", model.name, link.name, kind.name);
  for (const int32_t size : kRanks) std::printf(" %.3g |", kind.predict(model, Group(link, size)));
  std::printf("\n");
}

void print_table() {
  std::printf("| model | link | sharding |");
  for (const int32_t size : kRanks) std::printf(" %d ranks |", size);
  std::printf("\n|---|---|---|");
  for (size_t i = 0; i < std::size(kRanks); ++i) std::printf("---|");
  std::printf("\n");
  for (const Model& model : kModels) {
    for (const Link& link : kLinks) {
      for (const Kind& kind : kKinds) print_row(model, link, kind);
    }
  }
}

}  // namespace
}  // namespace halftone

int main() { halftone::print_table(); }
