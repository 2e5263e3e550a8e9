// Draws of categories by a tree of sums (formula/weight_tree.h): one block for each row. The block builds the tree
// level by level; its threads draw side by side, or one alone where a category that was drawn leaves the tree.
#include "backend/formula/weight_tree.h"
#include "cuda/base/block.h"
#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/select/entries.h"

namespace halftone::cuda {
namespace {

struct Draw {
  Elements weights;
  int64_t row_stride, column_stride;
  int64_t rows, categories, draws;
  int64_t needed;  // categories of a row that must have a weight above 0
  int64_t leaves;
  CategoryDraws settings;
};

struct Least {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

// The findings of a block about its row.
struct RowCheck {
  int64_t first_bad;  // INT64_MAX if all are weights
  int64_t above_zero;
};

// Fills the leaves and adds them up.
HALFTONE_DEVICE RowCheck plant(const Draw& draw, int64_t row, double* nodes) {
  int64_t first_bad = INT64_MAX;
  int64_t above_zero = 0;
  for (int64_t i = threadIdx.x; i < draw.leaves; i += blockDim.x) {
    const double weight =
        i < draw.categories ? load<double>(draw.weights, row * draw.row_stride + i * draw.column_stride) : 0.0;
    const bool is_weight = weight >= 0.0 && weight - weight == 0.0;
    if (!is_weight && first_bad == INT64_MAX) first_bad = i;
    above_zero += weight > 0.0 ? 1 : 0;
    nodes[draw.leaves + i] = weight;
  }
  __syncthreads();
  for (int64_t level = draw.leaves / 2; level >= 1; level /= 2) {
    for (int64_t i = level + threadIdx.x; i < 2 * level; i += blockDim.x) nodes[i] = nodes[2 * i] + nodes[2 * i + 1];
    __syncthreads();
  }
  first_bad = reduce_block(first_bad, static_cast<int64_t>(INT64_MAX), Least());
  return {first_bad, sum_block(above_zero)};
}

HALFTONE_DEVICE void report_row(const Draw& draw, int64_t row, const RowCheck& check, Fault fault, Fault* word) {
  if (check.first_bad != INT64_MAX) {
    const double weight = load<double>(draw.weights, row * draw.row_stride + check.first_bad * draw.column_stride);
    fault.kind = FaultKind::kWeight;
    fault.number = weight;
    report(word, fault, check.first_bad, row);
  } else if (check.above_zero < draw.needed) {
    fault.kind = FaultKind::kFewWeights;
    fault.bound = draw.needed;
    report(word, fault, check.above_zero, row);
  } else {
    fault.kind = FaultKind::kWeightSum;
    report(word, fault, 0, row);
  }
}

// Block: one row, then further ones. nodes: 2 * leaves for each row.
HALFTONE_KERNEL draw_kernel(Draw draw, double* all_nodes, int64_t* out, Fault fault, Fault* word) {
  for (int64_t row = blockIdx.x; row < draw.rows; row += gridDim.x) {
    double* const nodes = all_nodes + 2 * draw.leaves * row;
    const RowCheck check = plant(draw, row, nodes);
    const double total = nodes[1];
    const bool is_right = check.first_bad == INT64_MAX && check.above_zero >= draw.needed && total - total == 0.0;
    if (!is_right) {
      if (threadIdx.x == 0) report_row(draw, row, check, fault, word);
      continue;
    }
    WeightTree tree(nodes, draw.leaves);
    const int64_t first = draw.settings.replaces ? threadIdx.x : threadIdx.x == 0 ? 0 : draw.draws;
    const int64_t step = draw.settings.replaces ? blockDim.x : 1;
    for (int64_t d = first; d < draw.draws; d += step) {
      const int64_t number = row * draw.draws + d;
      out[number] = tree.find(uniform_double(current_key(draw.settings.key), static_cast<uint64_t>(number)));
      if (!draw.settings.replaces) tree.remove(out[number]);
    }
  }
}

}  // namespace

size_t draw_workspace(Stream&, const View& weights) noexcept {
  return static_cast<size_t>(weights.shape[0] * WeightTree::leaves_for(weights.shape[1])) * 2 * sizeof(double);
}

Status draw_categories(Stream& stream, const CategoryDraws& draws, const View& weights, void* workspace,
                       const View& out) noexcept {
  const Draw draw = {.weights = {weights.data, weights.dtype},
                     .row_stride = weights.strides[0],
                     .column_stride = weights.strides[1],
                     .rows = weights.shape[0],
                     .categories = weights.shape[1],
                     .draws = out.shape[1],
                     .needed = draws.replaces ? 1 : out.shape[1],
                     .leaves = WeightTree::leaves_for(weights.shape[1]),
                     .settings = draws};
  return launch(stream, grid_for_rows(draw.rows, kThreads), draw_kernel, draw, static_cast<double*>(workspace),
                static_cast<int64_t*>(out.data), possible_fault(FaultKind::kWeight, "probabilities", weights.shape, 0),
                device_of(stream).fault);
}

}  // namespace halftone::cuda
