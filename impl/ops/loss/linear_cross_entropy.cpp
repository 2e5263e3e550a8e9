// The logits are computed for some rows at a time, and once more in backward, so that memory does not grow with rows
// times classes.
#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/dispatch/store_gradient.h"
#include "ops/elementwise/binary.h"
#include "ops/gemm/gemm.h"
#include "ops/loss/class_loss.h"
#include "ops/loss/loss.h"
#include "ops/matmul/layer.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr const char* kHeadName = "linear_cross_entropy";
constexpr ClassLossNames kHeadNames = {"weight", "options.weight"};

// 4 MiB of logits, but no fewer rows than a matrix product needs to be fast.
constexpr int64_t kLogitsAtOnce = int64_t{1} << 20;
constexpr int64_t kLeastRows = 128;

// Elements [begin, begin + count) of the first dimension.
View part_of(const Tensor& tensor, int64_t begin, int64_t count) {
  Shape shape = tensor.shape();
  shape[0] = count;
  return tensor.as_strided(shape, tensor.strides(), tensor.offset() + begin * tensor.strides()[0]).view();
}

struct Rows {
  int64_t begin;
  int64_t count;
};

// The operands as matrices, and the loss of their product.
struct Head {
  Tensor input;   // [rows, k]
  Tensor weight;  // [c, k]
  Tensor bias;    // [c], may be undefined
  ClassLossInputs classes;
  ClassLossOptions options;

  ContextDevice& device() const { return input.device(); }
  int64_t rows() const { return input.size(0); }
  int64_t rows_at_once() const {
    const int64_t fitting = kLogitsAtOnce / std::max<int64_t>(weight.size(0), 1);
    return std::min(std::max(fitting, kLeastRows), std::max<int64_t>(rows(), 1));
  }
  // A matrix [rows at once, c] for logits or their gradients, which are not rounded to 16 bits: a gradient is a sum of
  // products with them, which may cancel.
  Tensor some_rows() const { return empty(device(), wide_dtype(input.dtype()), {rows_at_once(), weight.size(0)}); }

  ClassTargets targets(Rows part) const {
    ClassTargets view = classes.view(options);
    view.indices = part_of(classes.targets, part.begin, part.count);
    return view;
  }

  // visit(part, logits of the part) for all parts in turn; the logits are in the compute dtype.
  template <class Visit>
  void for_each_part(Visit&& visit) const {
    const Tensor logits = some_rows();
    for (int64_t begin = 0; begin < rows(); begin += rows_at_once()) {
      const Rows part = {begin, std::min(rows_at_once(), rows() - begin)};
      const View block = part_of(logits, 0, part.count);
      run_gemm(kHeadName, device(),
               {.a = part_of(input, part.begin, part.count),
                .b = transposed(weight.view()),
                .bias = bias.defined() ? bias.view() : View{},
                .c = block});
      visit(part, block);
    }
  }
};

// The gradient of a weight or bias: the sum over all parts, in the leaf's own memory where that is as exact.
class SummedGrad {
 public:
  SummedGrad(InputGrads& inputs, int input, const Tensor& operand, const View& read)
      : inputs_(inputs), input_(input), dtype_(operand.dtype()) {
    if (!inputs.needs(input)) return;
    const DType wide = wide_dtype(dtype_);
    const GradSink sink = usable_sink(inputs, input, dtype_, {read, operand.view()});
    is_sink_ = sink.tensor.defined() && sink.tensor.dtype() == wide;
    sum_ = is_sink_ ? sink.tensor : empty(operand.device(), wide, operand.shape());
    store_ = is_sink_ ? sink.store : Store::kWrite;
  }

  bool is_needed() const { return sum_.defined(); }
  // add(out, store) stores one part's gradient.
  template <class Add>
  void add(const Add& add) {
    if (!is_needed()) return;
    add(sum_, store_);
    store_ = Store::kAdd;
  }
  void finish() {
    if (!is_needed()) return;
    is_sink_ ? inputs_.stored(input_) : inputs_.set(input_, converted(sum_, dtype_));
  }

 private:
  InputGrads& inputs_;
  int input_;
  DType dtype_;
  bool is_sink_ = false;
  Tensor sum_;
  Store store_ = Store::kWrite;
};

struct LinearCrossEntropyBackward final : Node {
  SavedTensor input, weight, bias, targets, class_weight;
  SavedTensor normalizers;  // [rows, 2]
  SavedTensor total;        // of a mean
  Shape input_shape;
  ClassLossOptions options;
  bool has_bias, is_weighted, is_mean;

  const char* name() const noexcept override { return kHeadName; }

  // With logits Z = X W^T + b and their gradient G, part by part: dX = G W, dW += G^T X, db += the column sums of G.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Head head = {input.unpack(),
                       weight.unpack(),
                       has_bias ? bias.unpack() : Tensor(),
                       {targets.unpack(), is_weighted ? class_weight.unpack() : Tensor()},
                       options};
    const Tensor of_rows =
        grad_of_rows(kHeadName, reshaped(grads[0], grads[0].rank() == 0 ? Shape{} : Shape{head.rows()}),
                     is_mean ? total.unpack() : Tensor(), head.rows());
    const Tensor factors = normalizers.unpack();
    const Tensor block = head.some_rows();
    const Tensor grad_input = inputs.needs(0) ? empty_like(head.input) : Tensor();
    SummedGrad grad_weight(inputs, 1, head.weight, head.input.view());
    SummedGrad grad_bias(inputs, 2, has_bias ? head.bias : head.weight, head.input.view());
    if (head.rows() == 0) set_zeros(grad_weight, grad_bias);
    head.for_each_part([&](Rows part, const View& logits) {
      const View grad = part_of(block, 0, part.count);
      launch(kHeadName, head.device(), &Kernels::norm, &NormKernels::cross_entropy_backward,
             part_of(of_rows, part.begin, part.count), logits, head.targets(part),
             part_of(factors, part.begin, part.count), grad);
      if (grad_input.defined()) {
        run_gemm(kHeadName, head.device(),
                 {.a = grad, .b = head.weight.view(), .c = part_of(grad_input, part.begin, part.count)});
      }
      const View x = part_of(head.input, part.begin, part.count);
      grad_weight.add([&](const Tensor& out, Store store) {
        run_gemm(kHeadName, head.device(), {.a = transposed(grad), .b = x, .store = store, .c = out.view()});
      });
      grad_bias.add([&](const Tensor& out, Store store) { sum_rows(kHeadName, grad, out, store); });
    });
    if (grad_input.defined()) inputs.set(0, reshaped(grad_input, input_shape));
    grad_weight.finish();
    grad_bias.finish();
  }
  void release_saved() noexcept override {
    for (SavedTensor* saved : {&input, &weight, &bias, &targets, &class_weight, &normalizers, &total}) saved->reset();
  }

 private:
  static void set_zeros(SummedGrad& grad_weight, SummedGrad& grad_bias) {
    for (SummedGrad* grad : {&grad_weight, &grad_bias}) {
      grad->add([](const Tensor& out, Store store) {
        if (store == Store::kWrite) fill(out, 0.0);
      });
    }
  }
};

Shape without_last(const Shape& shape) { return Shape(shape.begin(), shape.rank() - 1); }

void require_targets(const Tensor& input, const Tensor& targets) {
  require_classes(targets);
  require_same_device(input, "input", targets, "targets");
  const Shape expected = without_last(input.shape());
  if (targets.shape() == expected) return;
  fail(Code::kShapeMismatch, "targets", "targets %s does not fit input %s: expected %s",
       ShapeText(targets.shape()).text, ShapeText(input.shape()).text, ShapeText(expected).text);
}

}  // namespace

Tensor linear_cross_entropy(const LinearHead& given, const Tensor& targets, const Tensor& class_weights,
                            const ClassLossOptions& options) {
  const auto [input, weight, bias] = autocast_operands(Op::kLinearCrossEntropy, given.input, given.weight, given.bias);
  require_layer(input, weight, bias);
  require_targets(input, targets);
  const Head head = {as_rows(input),
                     weight,
                     bias,
                     {class_list(targets), constant_class_weight(weight, 0, class_weights, kHeadNames)},
                     options};
  const ClassLossRows rows(head.input, true);
  head.for_each_part([&](Rows part, const View& logits) {
    launch(kHeadName, head.device(), &Kernels::norm, &NormKernels::cross_entropy, logits, head.targets(part),
           ClassLosses{part_of(rows.losses, part.begin, part.count), part_of(rows.row_weights, part.begin, part.count),
                       part_of(rows.normalizers, part.begin, part.count)});
  });
  const auto [reduced, total] = reduce_rows(kHeadName, rows, options.reduction, rows.losses.dtype());
  const Tensor result = options.reduction == LossReduction::kNone ? reshaped(reduced, targets.shape()) : reduced;
  if (auto* node = record<LinearCrossEntropyBackward>(result, {&input, &weight, &bias})) {
    node->input = SavedTensor(head.input);
    node->weight = SavedTensor(weight);
    node->targets = SavedTensor(head.classes.targets);
    node->normalizers = SavedTensor(rows.normalizers);
    node->input_shape = input.shape();
    node->options = options;
    node->has_bias = bias.defined();
    node->is_weighted = head.classes.weight.defined();
    node->is_mean = total.defined();
    if (node->has_bias) node->bias = SavedTensor(bias);
    if (node->is_weighted) node->class_weight = SavedTensor(head.classes.weight);
    if (node->is_mean) node->total = SavedTensor(total);
  }
  return result;
}

}  // namespace halftone::ops
