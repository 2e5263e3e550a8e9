#include "optim/shard_check.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "optim/device_array.h"
#include "tensor/launch.h"

namespace halftone::optim {
namespace {

// As they go to the other ranks.
struct Finding {
  int64_t nodes = 0;
  int64_t parameter = -1;  // the first that is not finite; -1 for none
  int64_t kind = 0;
  double largest_partial = 0;  // and its parameter
  int64_t largest_parameter = -1;
};
struct Sum {
  NormNode node = {};
  double partial = 0;
};

// Every rank's elements, one after another. Every rank gives as many.
template <class Element>
std::vector<Element> gathered(ShardRanks& ranks, ContextDevice& device, const std::vector<Element>& own) {
  const auto bytes = static_cast<int64_t>(own.size() * sizeof(Element));
  const Tensor in = from_host(device, DType::kU8, {bytes}, own.data(), Category::kCommunication);
  const Tensor out = empty(device, DType::kU8, {bytes * ranks.size()}, Category::kCommunication);
  ranks.gather(in, out);
  std::vector<Element> all(own.size() * static_cast<size_t>(ranks.size()));
  read_to_host(out, DType::kU8, all.data());
  return all;
}

OptimizerState read(const Tensor& tensor) {
  OptimizerState state;
  read_to_host(tensor, DType::kU8, &state);
  return state;
}

// The first parameter that is not finite on a rank, and the one with the largest partial sum.
void join_findings(const std::vector<Finding>& findings, const Tensor& tensor) {
  OptimizerState state = read(tensor);
  state.found_inf = 0.0f;
  state.offending_parameter = state.largest_parameter = -1;
  state.largest_partial = 0.0;
  for (const Finding& finding : findings) {
    if (finding.largest_partial > state.largest_partial) {
      state.largest_partial = finding.largest_partial;
      state.largest_parameter = static_cast<int32_t>(finding.largest_parameter);
    }
    if (finding.parameter < 0) continue;
    if (state.offending_parameter >= 0 && state.offending_parameter <= finding.parameter) continue;
    state.found_inf = 1.0f;
    state.offending_parameter = static_cast<int32_t>(finding.parameter);
    state.offending_kind = static_cast<NotFinite>(finding.kind);
  }
  write_from_host(tensor, DType::kU8, &state);
}

// The sums of all ranks, which are those of one tree: in the order of parameters and blocks.
std::vector<Sum> in_order(const std::vector<Finding>& findings, const std::vector<Sum>& padded) {
  std::vector<Sum> sums;
  const size_t stride = padded.size() / findings.size();
  for (size_t rank = 0; rank < findings.size(); ++rank) {
    const auto first = padded.begin() + static_cast<std::ptrdiff_t>(rank * stride);
    sums.insert(sums.end(), first, first + findings[rank].nodes);
  }
  std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) {
    return std::pair(a.node.parameter, a.node.first_block) < std::pair(b.node.parameter, b.node.first_block);
  });
  return sums;
}

}  // namespace

void join_checks(ShardRanks& ranks, const std::vector<NormNode>& nodes, const Tensor& partials, const Tensor& state) {
  ContextDevice& device = state.device();
  const OptimizerState own = read(state);
  const std::vector<Finding> findings =
      gathered<Finding>(ranks, device,
                        {{.nodes = static_cast<int64_t>(nodes.size()),
                          .parameter = own.found_inf != 0.0f ? own.offending_parameter : -1,
                          .kind = static_cast<int64_t>(own.offending_kind),
                          .largest_partial = own.largest_partial,
                          .largest_parameter = own.largest_parameter}});
  join_findings(findings, state);
  int64_t most = 0;
  for (const Finding& finding : findings) most = std::max(most, finding.nodes);
  std::vector<double> numbers(nodes.size());
  if (!numbers.empty()) read_to_host(partials, DType::kF64, numbers.data());
  std::vector<Sum> sums(static_cast<size_t>(most));
  for (size_t i = 0; i < nodes.size(); ++i) sums[i] = {.node = nodes[i], .partial = numbers[i]};
  sums = in_order(findings, gathered(ranks, device, sums));
  std::vector<NormNode> all_nodes;
  std::vector<double> all_partials;
  for (const Sum& sum : sums) {
    all_nodes.push_back(sum.node);
    all_partials.push_back(sum.partial);
  }
  const DeviceArray<NormNode> node_list(device, std::move(all_nodes));
  const DeviceArray<double> partial_list(device, std::move(all_partials));
  launch("grad_norm", device, &Kernels::optim, &OptimKernels::sum_norm, node_list.device(), partial_list.device(),
         node_list.size(), static_cast<OptimizerState*>(state.data()));
}

}  // namespace halftone::optim
