// The sum of all partials in the order of formula/norm_tree.h, in two launches. Each thread of the first adds the nodes
// below one large node of the tree; one thread of the second adds the large nodes, as the CPU adds all.
#include "backend/formula/norm_tree.h"
#include "cuda/base/launch.h"
#include "cuda/optim/entries.h"

namespace halftone::cuda {
namespace {

// Blocks of 256 below a large node: 32 chunks.
constexpr int64_t kLargeNode = 2048;

// In place of the nodes i to i + length - 1 the sum of these.
struct Group {
  double sum;
  int64_t length;
};

// Nodes in one launch, bounded by the scratch that holds a group for each beside the tree of the second launch.
constexpr int64_t kMostNodes = static_cast<int64_t>(kScratchBytes / 2 / sizeof(Group));

HALFTONE_DEVICE bool have_one_parent(const NormNode& a, const NormNode& b) {
  return a.parameter == b.parameter && a.first_block / kLargeNode == b.first_block / kLargeNode;
}

struct Nodes {
  const NormNode* nodes;
  const double* partials;
  int64_t begin;  // of those of the launch
  int64_t end;
  int64_t count;  // of all
};

// The end of the nodes below the parent of node i.
HALFTONE_DEVICE int64_t end_below_parent(const Nodes& of, int64_t i) {
  int64_t end = i + 1;
  while (end < of.end && have_one_parent(of.nodes[i], of.nodes[end])) ++end;
  return end;
}

// True if nodes [i, end) are all below their parent: they begin where it begins, have no gaps, and end where it ends or
// with the parameter. Any others, as in a list of one shard, the second launch adds one by one.
HALFTONE_DEVICE bool are_complete(const Nodes& of, int64_t i, int64_t end) {
  if (of.nodes[i].first_block % kLargeNode != 0) return false;
  int64_t next = of.nodes[i].first_block;
  for (int64_t k = i; k < end; ++k) {
    if (of.nodes[k].first_block != next) return false;
    next += of.nodes[k].blocks;
  }
  if (next % kLargeNode == 0) return true;
  if (end < of.count) return of.nodes[end].parameter != of.nodes[i].parameter;
  return true;
}

HALFTONE_DEVICE double sum_of(const Nodes& of, int64_t i, int64_t end) {
  NormTree tree;
  for (int64_t k = i; k < end; ++k) tree.add(of.nodes[k], of.partials[k]);
  return tree.total();
}

HALFTONE_KERNEL group_kernel(Nodes of, Group* groups) {
  for (int64_t i = of.begin + first_item(); i < of.end; i += item_step()) {
    if (i > of.begin && have_one_parent(of.nodes[i - 1], of.nodes[i])) continue;
    const int64_t end = end_below_parent(of, i);
    if (are_complete(of, i, end)) {
      groups[i - of.begin] = {sum_of(of, i, end), end - i};
    } else {
      for (int64_t k = i; k < end; ++k) groups[k - of.begin] = {of.partials[k], 1};
    }
  }
}

// The place of a group in the tree: of its parent, if it has several nodes.
HALFTONE_DEVICE NormNode node_of(const NormNode& first, int64_t length) {
  if (length == 1) return first;
  return {first.parameter, first.first_block, kLargeNode};
}

// Threads read groups and nodes ahead for the one that adds. `tree` passes from launch to launch of a long list.
HALFTONE_KERNEL add_groups(Nodes of, const Group* groups, NormTree* tree, OptimizerState* state) {
  __shared__ Group window[kThreads];
  __shared__ NormNode first[kThreads];
  if (threadIdx.x == 0 && of.begin == 0) *tree = NormTree();
  int64_t next = of.begin;
  for (int64_t begin = of.begin; begin < of.end; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    __syncthreads();
    if (i < of.end) {
      window[threadIdx.x] = groups[i - of.begin];
      first[threadIdx.x] = of.nodes[i];
    }
    __syncthreads();
    if (threadIdx.x != 0) continue;
    while (next < begin + kThreads && next < of.end) {
      const Group& group = window[next - begin];
      tree->add(node_of(first[next - begin], group.length), group.sum);
      next += group.length;
    }
  }
  if (threadIdx.x == 0 && of.end == of.count) state->grad_norm_squared = tree->total();
}

}  // namespace

Status sum_norm(Stream& stream, const NormNode* nodes, const double* partials, int64_t count,
                OptimizerState* state) noexcept {
  auto* const groups = reinterpret_cast<Group*>(scratch_of(stream));
  auto* const tree = reinterpret_cast<NormTree*>(scratch_of(stream) + kScratchBytes / 2);
  static_assert(sizeof(NormTree) <= kScratchBytes / 2);
  int64_t begin = 0;
  do {
    const int64_t end = std::min(count, begin + kMostNodes);
    const Nodes part = {nodes, partials, begin, end, count};
    Status status = launch(stream, grid_for_items(device_of(stream), end - begin, 64), group_kernel, part, groups);
    if (status.ok()) status = launch(stream, {}, add_groups, part, groups, tree, state);
    if (!status.ok()) return status;
    begin = end;
  } while (begin < count);
  return {};
}

}  // namespace halftone::cuda
