#include "ops/attention/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "ops/attention/layout.h"
#include "ops/attention/operands.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/dispatch/workspace.h"
#include "runtime/context.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr const char* kName = "scaled_dot_product_attention";

// The dtype of the sums' logarithms: in 16 bits, backward would divide by a rounded sum.
DType sum_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

const AttentionKernels& kernels_of(ContextDevice& device) {
  const AttentionKernels& kernels = device.device->kernels().attention;
  if (kernels.workspace == nullptr || kernels.forward == nullptr || kernels.backward == nullptr) {
    fail_not_implemented(kName, *device.device);
  }
  return kernels;
}

View view_of(const Tensor& tensor) { return tensor.defined() ? tensor.view() : View{}; }

AttentionArgs args_of(const AttentionOperands& operands, const AttentionSettings& settings) {
  return {.q = operands.q.view(),
          .k = operands.k.view(),
          .v = operands.v.view(),
          .mask = operands.mask.defined() ? expand(operands.mask, score_shape(operands)) : View{},
          .settings = settings};
}

// Saved before the attention is computed: a second forward need not compute it where these are the last that it makes.
struct SavedOperands {
  SavedOperands() = default;
  explicit SavedOperands(const AttentionOperands& operands)
      : q(operands.q), k(operands.k), v(operands.v), has_mask(operands.mask.defined()) {
    if (has_mask) mask = SavedTensor(operands.mask);
  }
  AttentionOperands unpack() const { return {q.unpack(), k.unpack(), v.unpack(), has_mask ? mask.unpack() : Tensor()}; }

  SavedTensor q, k, v, mask;
  bool has_mask = false;
};

struct AttentionBackward final : Node {
  SavedOperands saved;
  SavedTensor output, log_sums;
  AttentionSettings settings;

  const char* name() const noexcept override { return kName; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const AttentionOperands operands = saved.unpack();
    const Tensor& result = output.unpack();
    // Without keys, the output is 0 whatever the operands hold.
    if (result.numel() == 0 || operands.k.numel() == 0) return set_zeros(operands, inputs);
    const AttentionArgs args = args_of(operands, settings);
    const AttentionSaved results = {
        .grad_output = grads[0].view(), .output = result.view(), .log_sums = log_sums.unpack().view()};
    if (inputs.needs(3)) inputs.set(3, mask_gradient(args, results, operands.mask));
    // One kernel computes both gradients from the same scores.
    const bool needs_keys = inputs.needs(1) || inputs.needs(2);
    if (!inputs.needs(0) && !needs_keys) return;
    const Tensor grad_q = inputs.needs(0) ? empty_in_order_of(operands.q, operands.q.shape()) : Tensor();
    const Tensor grad_k = needs_keys ? empty_in_order_of(operands.k, operands.k.shape()) : Tensor();
    const Tensor grad_v = needs_keys ? empty_in_order_of(operands.v, operands.v.shape()) : Tensor();
    run(args, results, {.q = view_of(grad_q), .k = view_of(grad_k), .v = view_of(grad_v)}, result.device());
    if (inputs.needs(0)) inputs.set(0, grad_q);
    if (inputs.needs(1)) inputs.set(1, grad_k);
    if (inputs.needs(2)) inputs.set(2, grad_v);
  }
  void release_saved() noexcept override {
    saved = {};
    output.reset();
    log_sums.reset();
  }

 private:
  static void set_zeros(const AttentionOperands& operands, InputGrads& inputs) {
    int input = 0;
    for (const Tensor* operand : {&operands.q, &operands.k, &operands.v, &operands.mask}) {
      if (inputs.needs(input)) inputs.set(input, full(operand->device(), operand->dtype(), operand->shape(), 0.0));
      ++input;
    }
  }

  static void run(const AttentionArgs& args, const AttentionSaved& results, const AttentionGrads& out,
                  ContextDevice& device) {
    const AttentionKernels& kernels = kernels_of(device);
    Stream& stream = current_stream(device);
    const TraceSpan span(TraceKind::kOperation, kName);
    const Workspace workspace(device, kernels.workspace(stream, AttentionPass::kBackward, args));
    check(kernels.backward(stream, args, results, workspace.data(), out));
  }

  // The scores' gradient, summed over the dimensions in which the mask was repeated.
  static Tensor mask_gradient(const AttentionArgs& args, const AttentionSaved& results, const Tensor& mask) {
    ContextDevice& device = mask.device();
    const Tensor grad = empty(device, mask.dtype(), mask.shape());
    const AttentionKernels& kernels = kernels_of(device);
    if (kernels.backward_of_mask == nullptr) fail_not_implemented("gradient of attention's mask", *device.device);
    Stream& stream = current_stream(device);
    const TraceSpan span(TraceKind::kOperation, kName);
    const Workspace workspace(device, kernels.workspace(stream, AttentionPass::kBackwardOfMask, args));
    check(kernels.backward_of_mask(stream, args, results, workspace.data(), expand(grad, args.mask.shape)));
    return grad;
  }
};

void run_forward(const AttentionArgs& args, const AttentionResult& out, ContextDevice& device) {
  const AttentionKernels& kernels = kernels_of(device);
  Stream& stream = current_stream(device);
  const TraceSpan span(TraceKind::kOperation, kName);
  const Workspace workspace(device, kernels.workspace(stream, AttentionPass::kForward, args));
  check(kernels.forward(stream, args, workspace.data(), out));
}

AttentionSettings settings_of(const AttentionOperands& operands, const AttentionOptions& options) {
  const int rank = operands.q.rank();
  const int64_t depth = operands.q.size(rank - 1);
  AttentionSettings settings = {
      .scale = options.scale != 0.0 ? options.scale : 1.0 / std::sqrt(static_cast<double>(depth)),
      .is_causal = options.is_causal,
      // Further offsets hide or show all keys, as these do.
      .causal_offset = std::clamp(options.causal_offset, -operands.q.size(rank - 2), operands.k.size(rank - 2))};
  if (options.dropout > 0.0) {
    settings.dropout = {
        .key = operands.q.device().context->next_key(), .p = options.dropout, .scale = 1.0 / (1.0 - options.dropout)};
  }
  return settings;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    const AttentionOptions& options) {
  if (!have_equal_batches(q, k, v)) {
    const auto [equal_q, equal_k, equal_v] = with_equal_batches(q, k, v);
    return scaled_dot_product_attention(equal_q, equal_k, equal_v, mask, options);
  }
  const auto [cast_q, cast_k, cast_v] = autocast_operands(Op::kScaledDotProductAttention, q, k, v);
  const AttentionOperands operands = {cast_q, cast_k, cast_v, mask};
  require_attention(operands);
  const AttentionSettings settings = settings_of(operands, options);
  Shape shape = cast_q.shape();
  shape[shape.rank() - 1] = cast_v.size(shape.rank() - 1);
  // A sum over no key is 0; the kernel's softmax of nothing would be NaN.
  const bool has_keys = cast_k.numel() > 0;
  Tensor result = has_keys ? empty_in_order_of(cast_q, shape) : full(cast_q.device(), cast_q.dtype(), shape, 0.0);
  Tensor log_sums;
  SavedOperands saved;
  if (should_record(std::array{&cast_q, &cast_k, &cast_v, &mask})) {
    saved = SavedOperands(operands);
    log_sums = empty(cast_q.device(), sum_dtype(cast_q.dtype()), Shape(shape.begin(), shape.rank() - 1),
                     Category::kActivations);
    // Recomputation keeps these: they have the size of the input, and cost the most.
    keep_costly_result(result);
    keep_costly_result(log_sums);
  }
  if (has_keys && result.numel() > 0) {
    run_forward(args_of(operands, settings), {.output = result.view(), .log_sums = view_of(log_sums)}, cast_q.device());
  }
  if (auto* node = record<AttentionBackward>(result, {&cast_q, &cast_k, &cast_v, &mask})) {
    node->saved = std::move(saved);
    node->output = SavedTensor(result.detach());
    node->log_sums = SavedTensor(log_sums);
    node->settings = settings;
  }
  return result;
}

}  // namespace halftone::ops
