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
  if (group == nullptr) return sum / count;
  return sum_over_ranks(*group, sum) / sum_over_ranks(*group, count);
}

int64_t Losses::items() const noexcept {
  int64_t sum = 0;
  for (const Entry& entry : list_) sum += entry.items;
  return sum;
}

double sum_over_ranks(const Group& group, double value) {
  const Tensor number = full(group.device(), DType::kF64, {1}, value);
  const CallOptions options{
      .stream = &group.device().device->stream(), .hash = 0, .is_deterministic = group.is_deterministic() ? 1 : 0};
  run_and_wait([&](Work** work) {
    return group.process_group().all_reduce(options, ReduceOp::kSum, number.view(), number.view(), work);
  });
  return item(number);
}

}  // namespace halftone::trainer
