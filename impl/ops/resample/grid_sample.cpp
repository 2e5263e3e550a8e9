#include "ops/resample/grid_sample.h"

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/pool/pool_call.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// An image as a volume of depth 1, and so are its grid and its samples.
View as_volume(const View& view, int depth_dim, bool is_image) {
  if (!is_image) return view;
  View volume = view;
  volume.shape = volume.strides = {};
  for (int d = 0; d <= view.rank(); ++d) {
    volume.shape.push_back(d == depth_dim ? 1 : view.shape[d < depth_dim ? d : d - 1]);
    volume.strides.push_back(d == depth_dim ? 0 : view.strides[d < depth_dim ? d : d - 1]);
  }
  return volume;
}

GridSampleArgs args_of(const Tensor& input, const Tensor& grid, const Tensor& result, const GridRule& rule) {
  const bool is_image = result.rank() == 4;
  return {.input = as_volume(input.view(), 2, is_image),
          .grid = as_volume(grid.view(), 1, is_image),
          .output = as_volume(result.view(), 2, is_image),
          .rule = rule};
}

struct GridSampleBackward final : Node {
  SavedTensor input, grid;  // the input only if the grid needs a gradient
  Shape shape;              // of the input
  GridRule rule;

  const char* name() const noexcept override { return "grid_sample"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = contiguous(grads[0]);
    const Tensor& places = grid.unpack();
    if (inputs.needs(0)) {
      const Tensor sums = pool_sums(grad.device(), grad.dtype(), shape);
      launch(name(), grad.device(), &Kernels::resample, &ResampleKernels::grid_sample_backward,
             args_of(sums, places, grad, rule));
      inputs.set(0, pool_gradient(sums, grad.dtype()));
    }
    if (!inputs.needs(1)) return;
    const Tensor slopes = empty(grad.device(), grad.dtype(), places.shape());
    launch(name(), grad.device(), &Kernels::resample, &ResampleKernels::grid_backward,
           args_of(input.unpack(), places, grad, rule), slopes.view());
    inputs.set(1, slopes);
  }
  void release_saved() noexcept override {
    input.reset();
    grid.reset();
  }
};

void require_input(const Tensor& input) {
  require_float(input, "input");
  if (input.rank() != 4 && input.rank() != 5) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected 4 or 5", ShapeText(input.shape()).text,
         input.rank());
  }
  require_images(input, "input", input.rank() - 2, 2);
}

void require_grid(const Tensor& grid, const Tensor& input) {
  require_float(grid, "grid");
  require_same_device(input, "input", grid, "grid");
  const int last = input.rank() - 1;
  if (grid.rank() == input.rank() && grid.size(0) == input.size(0) && grid.size(last) == last - 1) return;
  fail(Code::kShapeMismatch, "grid", "grid %s, expected [%lld, %sheight, width, %d] for input %s",
       ShapeText(grid.shape()).text, static_cast<long long>(input.size(0)), last == 4 ? "depth, " : "", last - 1,
       ShapeText(input.shape()).text);
}

// [n, c, sizes of the grid...]
Shape sampled_shape(const Tensor& input, const Tensor& grid) {
  Shape shape = {input.size(0), input.size(1)};
  for (int d = 1; d < grid.rank() - 1; ++d) shape.push_back(grid.size(d));
  return checked_shape(shape.begin(), shape.rank(), "grid");
}

}  // namespace

Tensor grid_sample(const Tensor& given_input, const Tensor& given_grid, const GridRule& rule) {
  require_input(given_input);
  require_grid(given_grid, given_input);
  const auto [own_input, own_grid] = autocast_operands(Op::kGridSample, given_input, given_grid);
  const DType dtype = promote(own_input.dtype(), own_grid.dtype());
  const Tensor input = cast(own_input, dtype), grid = cast(own_grid, dtype);
  const Tensor result = empty(input.device(), dtype, sampled_shape(input, grid));
  launch("grid_sample", input.device(), &Kernels::resample, &ResampleKernels::grid_sample,
         args_of(input, grid, result, rule));
  if (auto* node = record<GridSampleBackward>(result, {&input, &grid})) {
    if (requires_grad(grid)) node->input = SavedTensor(input);
    node->grid = SavedTensor(grid);
    node->shape = input.shape();
    node->rule = rule;
  }
  return result;
}

}  // namespace halftone::ops
