#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "backend/chunks.h"
#include "backend/formula/weight_tree.h"
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/select/entries.h"
#include "cpu/select/scratch.h"
#include "cpu/threads/first_fault.h"

namespace halftone::cpu {

namespace {

// A row of weights, as the tree wants them.
template <class T>
struct Row {
  const T* first;
  int64_t stride;
  int64_t count;

  double at(int64_t i) const { return static_cast<double>(first[i * stride]); }
};

// The draws of one call; `needed` categories of a row must have a weight above 0.
template <class T>
struct Task {
  const CategoryDraws& draws;
  const View& weights;
  const View& out;
  int64_t needed;

  Row<T> row(int64_t i) const {
    return {static_cast<const T*>(weights.data) + i * weights.strides[0], weights.strides[1], weights.shape[1]};
  }
};

bool is_weight(double weight) { return weight >= 0.0 && std::isfinite(weight); }

// Fills the tree. Returns false if the row does not allow the draws.
template <class T>
bool plant(const Task<T>& task, const Row<T>& row, double* nodes, WeightTree& tree) {
  const int64_t leaves = WeightTree::leaves_for(row.count);
  int64_t above_zero = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    const double weight = row.at(i);
    if (!is_weight(weight)) return false;
    above_zero += weight > 0.0 ? 1 : 0;
    tree.set(i, weight);
  }
  std::fill(nodes + leaves + row.count, nodes + 2 * leaves, 0.0);
  tree.add_up();
  return above_zero >= task.needed && std::isfinite(tree.total());
}

template <class T>
void draw_row(const Task<T>& task, int64_t row, WeightTree& tree) {
  const int64_t count = task.out.shape[1];
  auto* out = static_cast<int64_t*>(task.out.data) + row * count;
  for (int64_t d = 0; d < count; ++d) {
    out[d] = tree.find(uniform_double(task.draws.key, static_cast<uint64_t>(row * count + d)));
    if (!task.draws.replaces) tree.remove(out[d]);
  }
}

template <class T>
Status fault_of(const Task<T>& task, int64_t index) {
  const Row<T> row = task.row(index);
  int64_t above_zero = 0;
  for (int64_t i = 0; i < row.count; ++i) {
    if (!is_weight(row.at(i))) {
      return Status::failure(Code::kInvalidArgument,
                             "probabilities has %g at %" PRId64 " of row %" PRId64
                             ", expected finite numbers of at least 0",
                             row.at(i), i, index);
    }
    above_zero += row.at(i) > 0.0 ? 1 : 0;
  }
  if (above_zero >= task.needed) {
    return Status::failure(Code::kInvalidArgument, "probabilities has a sum beyond f64 in row %" PRId64, index);
  }
  return Status::failure(Code::kInvalidArgument,
                         "probabilities has %" PRId64 " above 0 in row %" PRId64 ", expected at least %" PRId64,
                         above_zero, index, task.needed);
}

template <class T>
Status draw_as(ThreadPool& pool, const Task<T>& task, double* scratch) {
  const int64_t rows = task.out.shape[0];
  const int64_t leaves = WeightTree::leaves_for(task.weights.shape[1]);
  const int64_t step = std::max<int64_t>(1, kChunkSize / (leaves + task.out.shape[1]));
  FirstFault fault;
  pool.parallel_for((rows + step - 1) / step, [&](int64_t chunk, int worker) {
    double* const nodes = scratch + 2 * leaves * worker;
    WeightTree tree(nodes, leaves);
    for (int64_t i = chunk * step; i < std::min((chunk + 1) * step, rows); ++i) {
      if (!plant(task, task.row(i), nodes, tree)) return fault.add(i);
      draw_row(task, i, tree);
    }
  });
  return fault.any() ? fault_of(task, fault.place()) : Status();
}

}  // namespace

size_t draw_workspace(Stream& stream, const View& weights) noexcept {
  return scratch_bytes(WeightTree::leaves_for(weights.shape[1]), pool_of(stream).width(), 2 * sizeof(double));
}

Status draw_categories(Stream& stream, const CategoryDraws& draws, const View& weights, void* workspace,
                       const View& out) noexcept {
  Status status;
  const bool known = try_visit_dtype(FloatTypes{}, weights.dtype, [&]<class T>() {
    const Task<T> task = {draws, weights, out, draws.replaces ? 1 : out.shape[1]};
    status = draw_as(pool_of(stream), task, static_cast<double*>(workspace));
  });
  if (known) return status;
  return Status::failure(Code::kUnsupported, "draw_categories has no kernel for %s", name_of(weights.dtype));
}

}  // namespace halftone::cpu
