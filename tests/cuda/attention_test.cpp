// Attention on the CUDA device beside the cases of the operations: the kernels on tensor cores, for lengths at the
// edges of tiles, groups of heads, masks, causal offsets and dropout, against a plain form in double; and calls that
// these kernels leave to the others.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/philox.h"
#include "cuda/attention/tensor_plan.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"
#include "tolerance.h"

namespace halftone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kSharedMemory = 227 << 10;  // must match the emulated device

enum class MaskKind { kNone, kAdded, kBool };

struct AttentionCase {
  const char* name;
  int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
  bool is_causal = false;
  int64_t causal_offset = 0;
  MaskKind mask = MaskKind::kNone;
  double dropout = 0;
  bool is_by_rows = false;  // memory is [batch, rows, heads, depth]
  double scale = 0.2;
};

Shape strides_of(const AttentionCase& c, int64_t heads, int64_t rows, int64_t columns) {
  if (!c.is_by_rows) return contiguous_strides({c.batch, heads, rows, columns});
  return {rows * heads * columns, columns, heads * columns, 1};
}

// The tensors in this order.
enum Part { kQ, kK, kV, kMask, kOutput, kLogSums, kGradOutput, kGradQ, kGradK, kGradV, kParts };

std::vector<HostTensor> tensors_of(const AttentionCase& c, DType dtype) {
  const auto make = [&](int64_t heads, int64_t rows, int64_t columns) {
    return HostTensor(dtype, {c.batch, heads, rows, columns}, strides_of(c, heads, rows, columns));
  };
  HostTensor mask(c.mask == MaskKind::kBool ? DType::kBool : DType::kF32, {c.batch, c.heads, c.queries, c.keys});
  for (int64_t i = 0; i < mask.numel(); ++i) {
    const bool hides = i % 3 == 1 || i / c.keys == 1;  // row 1 sees no key
    mask.set(i, c.mask == MaskKind::kBool ? !hides : hides ? -kInfinity : 0.25 * static_cast<double>(i % 5));
  }
  std::vector<HostTensor> tensors = {
      make(c.heads, c.queries, c.depth),       make(c.kv_heads, c.keys, c.depth),
      make(c.kv_heads, c.keys, c.value_depth), mask,
      make(c.heads, c.queries, c.value_depth), HostTensor(DType::kF32, {c.batch, c.heads, c.queries}),
      make(c.heads, c.queries, c.value_depth), make(c.heads, c.queries, c.depth),
      make(c.kv_heads, c.keys, c.depth),       make(c.kv_heads, c.keys, c.value_depth)};
  for (const Part part : {kQ, kK, kV, kGradOutput}) tensors[part].fill_uniform(-1, 1, 17 + part);
  return tensors;
}

AttentionArgs args_of(const AttentionCase& c, const std::vector<View>& v) {
  AttentionArgs args = {.q = v[kQ], .k = v[kK], .v = v[kV], .mask = {}, .settings = {}};
  if (c.mask != MaskKind::kNone) args.mask = v[kMask];
  args.settings.scale = c.scale;
  args.settings.is_causal = c.is_causal;
  args.settings.causal_offset = c.causal_offset;
  if (c.dropout > 0) {
    args.settings.dropout = {.key = {.seed = 3, .sequence = 5}, .p = c.dropout, .scale = 1 / (1 - c.dropout)};
  }
  return args;
}

// Values and the errors that rounding of weights and slopes to `dtype` may cause.
struct Expected {
  std::vector<double> values, slack;
  explicit Expected(const HostTensor& like)
      : values(static_cast<size_t>(like.numel())), slack(static_cast<size_t>(like.numel())) {}
  void add(int64_t i, double value, double error) {
    values[static_cast<size_t>(i)] += value;
    slack[static_cast<size_t>(i)] += error;
  }
};

// The plain form in double. Gradients use the output as it was rounded.
class Reference {
 public:
  Reference(const AttentionCase& c, const std::vector<HostTensor>& tensors, DType dtype)
      : output(tensors[kOutput]),
        log_sums(tensors[kLogSums]),
        grad_q(tensors[kQ]),
        grad_k(tensors[kK]),
        grad_v(tensors[kV]),
        c_(c),
        step_(half_step(dtype).relative) {
    for (const HostTensor& tensor : tensors) {
      std::vector<double> values;
      for (int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.get(i));
      in_.push_back(std::move(values));
    }
    for (int64_t row = 0; row < c.batch * c.heads * c.queries; ++row) add_row(row);
  }

  Expected output, log_sums, grad_q, grad_k, grad_v;

 private:
  double at(Part part, int64_t i) const { return in_[part][static_cast<size_t>(i)]; }
  double dot(Part a, int64_t row_a, Part b, int64_t row_b, int64_t depth) const {
    double sum = 0;
    for (int64_t d = 0; d < depth; ++d) sum += at(a, row_a * depth + d) * at(b, row_b * depth + d);
    return sum;
  }
  double score(int64_t row, int64_t kv_row, int64_t key) const {
    if (c_.is_causal && key > row % c_.queries + c_.causal_offset) return -kInfinity;
    const double score = dot(kQ, row, kK, kv_row, c_.depth) * c_.scale;
    if (c_.mask == MaskKind::kNone) return score;
    const double mask = at(kMask, row * c_.keys + key);
    if (c_.mask == MaskKind::kAdded) return score + mask;
    return mask != 0 ? score : -kInfinity;
  }
  double factor(int64_t row, int64_t key) const {
    if (c_.dropout == 0) return 1;
    const int64_t element = row * ((c_.keys + 127) / 128 * 128) + key;
    const uint32_t word =
        philox({.seed = 3, .sequence = 5}, static_cast<uint64_t>(element / 4))[static_cast<size_t>(element % 4)];
    return static_cast<double>(word >> 8) * 0x1p-24 >= c_.dropout ? 1 / (1 - c_.dropout) : 0;
  }

  void add_row(int64_t row) {
    const int64_t head = row / c_.queries % c_.heads;
    const int64_t batch = row / c_.queries / c_.heads;
    const int64_t kv_first = (batch * c_.kv_heads + head / (c_.heads / c_.kv_heads)) * c_.keys;
    std::vector<double> scores;
    for (int64_t j = 0; j < c_.keys; ++j) scores.push_back(score(row, kv_first + j, j));
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double each : scores) sum += largest == -kInfinity ? 0 : std::exp(each - largest);
    log_sums.add(row, sum == 0 ? kInfinity : largest + std::log(sum), 0);
    if (sum == 0) return;
    for (int64_t j = 0; j < c_.keys; ++j) {
      const double weight = std::exp(scores[static_cast<size_t>(j)] - largest) / sum;
      add_output(row, kv_first + j, weight * factor(row, j));
    }
    double product = 0, magnitude = 0;  // D, and what the output's rounding may add to it
    for (int64_t d = 0; d < c_.value_depth; ++d) {
      const double term = at(kGradOutput, row * c_.value_depth + d) * at(kOutput, row * c_.value_depth + d);
      product += term;
      magnitude += std::fabs(term);
    }
    for (int64_t j = 0; j < c_.keys; ++j) {
      const double weight = std::exp(scores[static_cast<size_t>(j)] - largest) / sum;
      if (weight > 0) add_gradients(row, kv_first + j, weight, factor(row, j), product, magnitude);
    }
  }
  void add_output(int64_t row, int64_t kv_row, double weight) {
    for (int64_t d = 0; d < c_.value_depth; ++d) {
      const double term = weight * at(kV, kv_row * c_.value_depth + d);
      output.add(row * c_.value_depth + d, term, step_ * std::fabs(term));
    }
  }
  void add_gradients(int64_t row, int64_t kv_row, double weight, double factor, double product, double magnitude) {
    const double slope = weight * (factor * dot(kGradOutput, row, kV, kv_row, c_.value_depth) - product);
    const double error = step_ * (std::fabs(slope) + weight * magnitude);
    for (int64_t d = 0; d < c_.depth; ++d) {
      const double q = c_.scale * at(kQ, row * c_.depth + d);
      const double k = c_.scale * at(kK, kv_row * c_.depth + d);
      grad_q.add(row * c_.depth + d, slope * k, error * std::fabs(k));
      grad_k.add(kv_row * c_.depth + d, slope * q, error * std::fabs(q));
    }
    for (int64_t d = 0; d < c_.value_depth; ++d) {
      const double term = weight * factor * at(kGradOutput, row * c_.value_depth + d);
      grad_v.add(kv_row * c_.value_depth + d, term, step_ * std::fabs(term));
    }
  }

  const AttentionCase& c_;
  double step_;
  std::vector<std::vector<double>> in_;
};

class AttentionOnCuda : public RoomTest {
 protected:
  static void expect_close(const HostTensor& actual, const Expected& expected, const char* what) {
    EXPECT_TRUE(actual.guards_hold()) << what;
    for (int64_t i = 0; i < actual.numel(); ++i) {
      const double wanted = expected.values[static_cast<size_t>(i)];
      // FP32 sums and the device's exponential, beside the roundings.
      const double slack = 1.5 * expected.slack[static_cast<size_t>(i)] + 2e-5 * (1 + std::fabs(wanted));
      const double rounding = half_step(actual.view().dtype).relative * (std::fabs(wanted) + slack);
      const bool is_right =
          std::isinf(wanted) ? actual.get(i) == wanted : std::fabs(actual.get(i) - wanted) <= slack + rounding;
      ASSERT_TRUE(is_right) << what << " " << i << " is " << actual.get(i) << ", not " << wanted << " +- " << slack;
    }
  }

  // Forward, then backward of its own output.
  std::vector<HostTensor> run(const AttentionCase& c, DType dtype, bool is_tensor) {
    std::vector<HostTensor> tensors = tensors_of(c, dtype);
    DeviceCopies copies(*cuda_device(context()).device);
    std::vector<View> views;
    for (const HostTensor& tensor : tensors) views.push_back(copies.send(tensor));
    const AttentionArgs args = args_of(c, views);
    EXPECT_EQ(cuda::tensor_depth(args, kSharedMemory) != 0, is_tensor);
    const AttentionKernels& kernels = copies.kernels().attention;
    std::vector<float> scratch(static_cast<size_t>(c.batch * c.heads * c.queries));
    EXPECT_EQ(kernels.workspace(copies.stream(), AttentionPass::kBackward, args), scratch.size() * sizeof(float));
    float* const workspace = copies.lend(scratch.data(), scratch.size());
    const int64_t waits = cuda_waits();
    EXPECT_TRUE(kernels.forward(copies.stream(), args, nullptr, {views[kOutput], views[kLogSums]}).ok());
    EXPECT_TRUE(kernels
                    .backward(copies.stream(), args, {views[kGradOutput], views[kOutput], views[kLogSums]}, workspace,
                              {views[kGradQ], views[kGradK], views[kGradV]})
                    .ok());
    EXPECT_EQ(cuda_waits(), waits);
    EXPECT_TRUE(copies.fetch().ok());
    return tensors;
  }

  void expect_right(const AttentionCase& c, DType dtype, bool is_tensor = true) {
    SCOPED_TRACE(std::string(c.name) + " of " + std::string(name_of(dtype)));
    const std::vector<HostTensor> tensors = run(c, dtype, is_tensor);
    const Reference reference(c, tensors, dtype);
    expect_close(tensors[kLogSums], reference.log_sums, "log sum");
    expect_close(tensors[kOutput], reference.output, "output");
    expect_close(tensors[kGradQ], reference.grad_q, "gradient of q");
    expect_close(tensors[kGradK], reference.grad_k, "gradient of k");
    expect_close(tensors[kGradV], reference.grad_v, "gradient of v");
  }
};

TEST_F(AttentionOnCuda, OfLengthsAtTheEdgesOfTiles) {
  for (const AttentionCase& c : {AttentionCase{"one query and key", 1, 1, 1, 1, 1, 64, 64},
                                 {"one query", 1, 2, 2, 1, 65, 64, 64},
                                 {"one key", 1, 1, 1, 17, 1, 64, 64},
                                 {"whole tiles", 1, 1, 1, 128, 128, 64, 64},
                                 {"one more", 1, 1, 1, 129, 65, 64, 64},
                                 {"one less", 1, 1, 1, 63, 127, 64, 64}}) {
    expect_right(c, DType::kBF16);
  }
}

TEST_F(AttentionOnCuda, OfEveryDepth) {
  for (const AttentionCase& c : {AttentionCase{"8", 1, 1, 1, 20, 30, 8, 8},
                                 {"40 and 64", 1, 1, 1, 20, 30, 40, 64},
                                 {"72 and 16", 1, 1, 1, 20, 70, 72, 16},
                                 {"128", 1, 1, 1, 33, 66, 128, 128}}) {
    expect_right(c, DType::kBF16);
    expect_right(c, DType::kF16);
  }
}

TEST_F(AttentionOnCuda, WithACausalMask) {
  for (const AttentionCase& c : {AttentionCase{"square", 1, 1, 1, 140, 140, 64, 64, true},
                                 {"after keys of a cache", 1, 1, 1, 40, 100, 64, 64, true, 60},
                                 {"before the first key", 1, 1, 1, 150, 100, 64, 64, true, -30},
                                 {"in long rows", 1, 1, 1, 70, 70, 128, 128, true}}) {
    expect_right(c, DType::kBF16);
  }
}

TEST_F(AttentionOnCuda, OfGroupsAndBatchesInMemoryByRows) {
  expect_right({.name = "groups",
                .batch = 2,
                .heads = 6,
                .kv_heads = 2,
                .queries = 33,
                .keys = 40,
                .depth = 64,
                .value_depth = 64,
                .is_causal = true,
                .causal_offset = 7,
                .is_by_rows = true},
               DType::kBF16);
}

TEST_F(AttentionOnCuda, WithMasks) {
  for (const MaskKind mask : {MaskKind::kAdded, MaskKind::kBool}) {
    for (const int64_t depth : {64, 128}) {
      expect_right({.name = mask == MaskKind::kAdded ? "added" : "bool",
                    .batch = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .queries = 66,
                    .keys = 70,
                    .depth = depth,
                    .value_depth = depth,
                    .is_causal = depth == 64,
                    .mask = mask},
                   DType::kBF16);
    }
  }
}

// The reference draws the CPU's numbers: one other choice would be far outside of the bounds.
TEST_F(AttentionOnCuda, WithDropoutOfTheCpusSequence) {
  for (const int64_t depth : {64, 128}) {
    expect_right({.name = "dropout",
                  .batch = 2,
                  .heads = 2,
                  .kv_heads = 1,
                  .queries = 35,
                  .keys = 70,
                  .depth = depth,
                  .value_depth = depth,
                  .is_causal = depth == 64,
                  .dropout = 0.3},
                 DType::kF16);
  }
}

TEST_F(AttentionOnCuda, ThatTensorCoresDoNotTake) {
  for (const AttentionCase& c :
       {AttentionCase{"long rows", 1, 1, 1, 5, 6, 136, 64},
        {"broken chunks", 1, 1, 1, 5, 6, 12, 64},
        {"a negative scale", 1, 1, 1, 5, 6, 64, 64, false, 0, MaskKind::kNone, 0, false, -1}}) {
    expect_right(c, DType::kBF16, false);
  }
  expect_right({"of another dtype", 1, 1, 1, 5, 6, 64, 64}, DType::kF32, false);
}

TEST_F(AttentionOnCuda, HasOneResultInEveryRun) {
  const AttentionCase c = {"groups", 1, 4, 2, 70, 90, 64, 64, true, 20};
  const std::vector<HostTensor> first = run(c, DType::kBF16, true);
  const std::vector<HostTensor> second = run(c, DType::kBF16, true);
  for (size_t t = 0; t < first.size(); ++t) EXPECT_EQ(first[t].bytes(), second[t].bytes()) << t;
}

// A NaN reaches the rows that see it, and no others.
TEST_F(AttentionOnCuda, OfANanIsNanInTheRowsThatSeeIt) {
  const AttentionCase c = {"causal", 1, 1, 1, 40, 40, 64, 64, true};
  std::vector<HostTensor> tensors = tensors_of(c, DType::kBF16);
  tensors[kK].set(20 * 64 + 3, std::nan(""));
  DeviceCopies copies(*cuda_device(context()).device);
  std::vector<View> views;
  for (const HostTensor& tensor : tensors) views.push_back(copies.send(tensor));
  ASSERT_TRUE(copies.kernels()
                  .attention.forward(copies.stream(), args_of(c, views), nullptr, {views[kOutput], views[kLogSums]})
                  .ok());
  ASSERT_TRUE(copies.fetch().ok());
  for (int64_t row = 0; row < 40; ++row) {
    EXPECT_EQ(std::isnan(tensors[kOutput].get(row * 64)), row >= 20) << row;
    EXPECT_EQ(std::isnan(tensors[kLogSums].get(row)), row >= 20) << row;
  }
}

}  // namespace
}  // namespace halftone
