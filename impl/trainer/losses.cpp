#include "trainer/losses.h"

#include "tensor/factory.h"

namespace halftone::trainer {

double Losses::sum(double share) const {
  double sum = 0;
  for (const Entry& entry : list_) sum += share * item(entry.loss);
  return sum;
}

double Losses::mean_by_items(const Group* group) const {
  double sum = 0;
  for (const Entry& entry : list_) sum += item(entry.loss) * static_cast<double>(entry.items);
  const double count = static_cast<double>(items());
  return reduced_over_ranks(group, ReduceOp::kSum, sum) / reduced_over_ranks(group, ReduceOp::kSum, count);
}

int64_t Losses::items() const noexcept {
  int64_t sum = 0;
  for (const Entry& entry : list_) sum += entry.items;
  return sum;
}

double reduced_over_ranks(const Group* group, ReduceOp op, double value) {
  if (group == nullptr) return value;
  const Tensor number = full(group->device(), DType::kF64, {1}, value);
  const CallOptions options{
      .stream = &group->device().device->stream(), .hash = 0, .is_deterministic = group->is_deterministic() ? 1 : 0};
  run_and_wait(
      [&](Work** work) { return group->process_group().all_reduce(options, op, number.view(), number.view(), work); });
  return item(number);
}

}  // namespace halftone::trainer
