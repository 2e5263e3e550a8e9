#include "parallel/replicate/sync_batch_norm.h"

#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend/formula/norm_range.h"
#include "backend/formula/set_moments.h"
#include "nn/batch_norm.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/norm/affine.h"
#include "ops/norm/row_norm.h"
#include "parallel/mesh/started_work.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

constexpr const char* kName = "sync_batch_norm";

using Numbers = std::vector<double>;

Tensor to_device(ContextDevice& device, DType dtype, const Shape& shape, const Numbers& numbers) {
  const Tensor tensor = empty(device, dtype, shape, Category::kActivations);
  write_from_host(tensor, DType::kF64, numbers.data());
  return tensor;
}

Numbers to_host(const Tensor& tensor) {
  Numbers numbers(static_cast<size_t>(tensor.numel()));
  read_to_host(tensor, DType::kF64, numbers.data());
  return numbers;
}

// [channels] as a view in the shape of an input [n, channels, ...].
View across(const Tensor& channels, const Shape& shape) {
  Shape strides = shape;
  for (int dim = 0; dim < shape.rank(); ++dim) strides[dim] = dim == 1 ? 1 : 0;
  return channels.as_strided(shape, strides, channels.offset()).view();
}

// The exchanges of all layers of one module, in the order of their forwards and backwards.
class StatisticsExchange final : public RefCounted {
 public:
  StatisticsExchange(ProcessGroup& group, ContextDevice& device, Ref<RefCounted> owner)
      : owner_(std::move(owner)), exchange_(group, device) {}

  // The numbers of all ranks, those of rank 0 first.
  Numbers gather(const Numbers& own) {
    const auto count = static_cast<int64_t>(own.size());
    const Tensor in = to_device(exchange_.device(), DType::kF64, {count}, own);
    const Tensor out = empty(exchange_.device(), DType::kF64, {count * exchange_.size()});
    const CallOptions options = exchange_.options(Purpose::kStatistics, calls_++);
    exchange_.start_all_gather(in, out, options).wait();
    return to_host(out);
  }
  size_t size() const noexcept { return static_cast<size_t>(exchange_.size()); }

 private:
  const Ref<RefCounted> owner_;
  Exchange exchange_;
  uint64_t calls_ = 0;
};

// Means, then variances as NormStatistics hold them, of [channels] over all ranks; the elements of each channel.
struct Statistics {
  Numbers values;
  double count = 0;
};

double stored_variance_of(const SetMoments& moments) {
  if (moments.squares < 0) return moments.squares / std::sqrt(moments.count);
  return moments.count == 0 ? 0 : moments.squares / moments.count;
}

Statistics joined(const Numbers& parts, size_t ranks, size_t channels) {
  const size_t stride = 1 + 2 * channels;
  Statistics all = {.values = Numbers(2 * channels), .count = 0};
  for (size_t rank = 0; rank < ranks; ++rank) all.count += parts[rank * stride];
  for (size_t c = 0; c < channels; ++c) {
    SetMoments moments = {};
    for (size_t rank = 0; rank < ranks; ++rank) {
      const double* part = parts.data() + rank * stride;
      moments = halftone::joined(moments, {part[0], part[1 + c], squares_of_root(part[1 + channels + c])});
    }
    all.values[c] = moments.mean;
    all.values[channels + c] = stored_variance_of(moments);
  }
  return all;
}

// The count of this rank's elements a channel, its means and the roots of its sums of squared deviations.
Numbers own_statistics(const Tensor& x) {
  const int64_t channels = x.size(1);
  const int64_t count = x.numel() / std::max<int64_t>(channels, 1);
  Numbers own = {static_cast<double>(count)};
  if (count == 0) {
    own.resize(static_cast<size_t>(1 + 2 * channels));
    return own;
  }
  Shape shape = x.shape();
  for (int dim = 0; dim < shape.rank(); ++dim) shape[dim] = dim == 1 ? channels : 1;
  const Tensor means = empty(x.device(), DType::kF64, shape);
  const Tensor roots = empty(x.device(), DType::kF64, shape);
  launch(kName, x.device(), &Kernels::reduce, &ReduceKernels::variance, Variance{.divisor = 1, .takes_root = true},
         x.view(), means.view(), roots.view());
  for (const Tensor* part : {&means, &roots}) {
    const Numbers numbers = to_host(*part);
    own.insert(own.end(), numbers.begin(), numbers.end());
  }
  return own;
}

struct SyncBatchNormBackward final : Node {
  Ref<StatisticsExchange> exchange;
  RowNorm norm;
  double count;  // of elements a channel on all ranks
  SavedTensor input;
  bool has_weight = false;
  SavedTensor weight;
  SavedTensor statistics;  // f64 [2, channels]
  DType weight_dtype = DType::kF32;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return kName; }

  // With x^ = (x - mean) / deviation, and sums over the elements of all ranks:
  // grad x = weight / deviation * (grad y - sum(grad y) / count - x^ * sum(grad y * x^) / count)
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const DType compute = norm_compute_dtype(x.dtype());
    const int64_t pieces = piece_count(norm, x.numel());
    const Tensor scale = has_weight ? affine_operand(weight.unpack(), compute) : Tensor();
    const Tensor grad = empty(x.device(), compute, x.shape());
    const Tensor weight_sums = empty(x.device(), compute, {pieces, norm.rows});
    const Tensor bias_sums = empty(x.device(), compute, {pieces, norm.rows});
    launch(kName, x.device(), &Kernels::norm, &NormKernels::row_norm_backward, norm,
           NormSaved{.grad_output = rows_of(grads[0], true),
                     .x = rows_of(x, true),
                     .weight = view_or_null(scale),
                     .statistics = row_statistics(statistics.unpack())},
           NormGrads{.input = rows_of(grad, true),
                     .weight_sums = weight_sums.view(),
                     .bias_sums = bias_sums.view(),
                     .pieces = pieces});
    const Shape channels = {norm.rows};
    if (inputs.needs(0)) inputs.set(0, input_gradient(grad, x, sums_of_ranks(bias_sums, weight_sums), scale));
    if (inputs.needs(1)) inputs.set(1, affine_gradient(kName, weight_sums, weight_dtype, channels));
    if (inputs.needs(2)) inputs.set(2, affine_gradient(kName, bias_sums, bias_dtype, channels));
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
    statistics.reset();
  }

 private:
  // The sums of grad y, then of grad y * x^, over all ranks.
  Numbers sums_of_ranks(const Tensor& bias_sums, const Tensor& weight_sums) const {
    Numbers own = to_host(affine_gradient(kName, bias_sums, DType::kF64, {norm.rows}));
    const Numbers products = to_host(affine_gradient(kName, weight_sums, DType::kF64, {norm.rows}));
    own.insert(own.end(), products.begin(), products.end());
    const Numbers all = exchange->gather(own);
    Numbers sums(own.size());
    for (size_t i = 0; i < all.size(); ++i) sums[i % own.size()] += all[i];
    return sums;
  }

  // `grad` is weight / deviation * grad y.
  Tensor input_gradient(const Tensor& grad, const Tensor& x, const Numbers& sums, const Tensor& scale) const {
    const auto channels = static_cast<size_t>(norm.rows);
    const Numbers moments = to_host(statistics.unpack());
    const Numbers weights = scale.defined() ? to_host(scale) : Numbers(channels, 1.0);
    Numbers shift(channels), slope(channels);
    for (size_t c = 0; c < channels; ++c) {
      const double factor = weights[c] / deviation_of(moments[channels + c], norm.epsilon) / count;
      shift[c] = factor * sums[c];
      slope[c] = factor * sums[channels + c];
    }
    const Tensor change = normalized(x);
    subtract_line(change, slope, shift, grad);
    return x.dtype() == grad.dtype() ? grad : converted(grad, x.dtype());
  }

  Tensor normalized(const Tensor& x) const {
    const Tensor result = empty(x.device(), norm_compute_dtype(x.dtype()), x.shape());
    launch(kName, x.device(), &Kernels::norm, &NormKernels::row_norm, norm, NormInput{rows_of(x, true)}, NormAffine{},
           row_statistics(statistics.unpack()), rows_of(result, true));
    return result;
  }

  // grad -= x * slope + shift, by channel. `x` is overwritten.
  static void subtract_line(const Tensor& x, const Numbers& slope, const Numbers& shift, const Tensor& grad) {
    const Shape channels = {static_cast<int64_t>(slope.size())};
    const Tensor slopes = to_device(x.device(), x.dtype(), channels, slope);
    const Tensor shifts = to_device(x.device(), x.dtype(), channels, shift);
    const auto apply = [&](BinaryOp op, const View& a, const View& b, const Tensor& out) {
      launch(kName, x.device(), &Kernels::elementwise, &ElementwiseKernels::binary, op, a, b, out.view());
    };
    apply(BinaryOp::kMultiply, x.view(), across(slopes, x.shape()), x);
    apply(BinaryOp::kAdd, x.view(), across(shifts, x.shape()), x);
    apply(BinaryOp::kSubtract, grad.view(), x.view(), grad);
  }
};

class RankBatchNorm final : public nn::BatchNormSync {
 public:
  explicit RankBatchNorm(Ref<StatisticsExchange> exchange) : exchange_(std::move(exchange)) {}

  Tensor run(const Tensor& input, const ops::RunningStatistics& running, const nn::Affine& affine,
             const ops::BatchNormSettings& settings) override {
    const Tensor weight = affine.weight_leaf(), bias = affine.bias_leaf();
    const auto [x, dtype] = autocast_unary(Op::kBatchNorm, input);
    const auto channels = static_cast<size_t>(x.size(1));
    const Statistics all = joined(exchange_->gather(own_statistics(x)), exchange_->size(), channels);
    require_batch(all.count);
    const Tensor statistics = to_device(x.device(), DType::kF64, {2, x.size(1)}, all.values);
    RowNorm norm = {.statistics = RowStatistics::kGiven,
                    .epsilon = settings.epsilon,
                    .rows = x.size(1),
                    .groups = x.size(1),
                    .spatial = x.numel() > 0 ? x.numel() / x.size(1) : 1,
                    .are_stored = true};
    const Tensor result = empty(x.device(), dtype, x.shape());
    const DType compute = norm_compute_dtype(x.dtype());
    const Tensor scale = affine_operand(weight, compute), shift = affine_operand(bias, compute);
    launch(kName, x.device(), &Kernels::norm, &NormKernels::row_norm, norm, NormInput{rows_of(x, true)},
           NormAffine{.weight = view_or_null(scale), .bias = view_or_null(shift)}, row_statistics(statistics),
           rows_of(result, true));
    if (auto* node = record<SyncBatchNormBackward>(result, {&x, &weight, &bias})) {
      node->exchange = exchange_;
      node->norm = norm;
      node->count = all.count;
      node->input = SavedTensor(x);
      node->statistics = SavedTensor(statistics);
      node->has_weight = weight.defined();
      if (weight.defined()) node->weight = SavedTensor(weight);
      if (weight.defined()) node->weight_dtype = weight.dtype();
      if (bias.defined()) node->bias_dtype = bias.dtype();
    }
    ops::move_running(running, settings, statistics, static_cast<int64_t>(all.count));
    return result;
  }

 private:
  // Every rank has one count, so that all throw.
  static void require_batch(double count) {
    if (count > 1) return;
    fail(Code::kShapeMismatch, "input", "the inputs of all ranks have %g elements a channel, expected more in training",
         count);
  }

  const Ref<StatisticsExchange> exchange_;
};

}  // namespace

void synchronize_batch_norm(const nn::Module& module, ProcessGroup& group, Ref<RefCounted> owner) {
  std::vector<const nn::Module*> modules = {&module};
  std::unordered_set<const nn::Module*> met = {&module};
  Ref<nn::BatchNormSync> sync;
  for (size_t next = 0; next < modules.size(); ++next) {
    for (size_t i = 0; const nn::Module* child = modules[next]->child(i); ++i) {
      if (met.insert(child).second) modules.push_back(child);
    }
    const auto* layer = dynamic_cast<const nn::BatchNorm*>(modules[next]);
    if (layer == nullptr) continue;
    if (!sync) {
      const std::vector<NamedParameter> parameters = module.parameters();
      if (parameters.empty()) fail(Code::kState, "module", "module has no parameters, so that its device is unknown");
      ContextDevice& device = parameters.front().parameter->device();
      sync = make_ref<RankBatchNorm>(make_ref<StatisticsExchange>(group, device, owner));
    }
    layer->set_sync(sync);
  }
  if (!sync) fail(Code::kState, "module", "module has no batch_norm layer");
}

}  // namespace halftone::parallel
