#include "trainer/evaluations.h"

namespace halftone::trainer {

void Evaluations::begin() {
  stop();
  batches_.sampler()->set_cursor(0);
  is_under_way_ = true;
}

bool Evaluations::take_loss(const Tensor& loss) {
  const Tensor& first = batches_.get(0);
  losses_.add(loss, first.rank() == 0 ? 1 : first.size(0));
  return ++taken_ == batches_.sampler()->batches_per_epoch();
}

// A loss of NaN is never better.
void Evaluations::end(int64_t step, const Group* group) {
  record_.loss = losses_.mean_by_items(group);
  record_.step = step;
  const bool is_better = !(record_.best <= record_.loss) && record_.loss == record_.loss;
  record_.worse = is_better ? 0 : record_.worse + 1;
  if (is_better) record_.best = record_.loss;
  stop();
}

std::vector<double> Evaluations::numbers() const {
  return {static_cast<double>(record_.step), record_.loss, record_.best, static_cast<double>(record_.worse)};
}

void Evaluations::set_numbers(const std::vector<double>& numbers) {
  record_ = {.step = static_cast<int64_t>(numbers[0]),
             .loss = numbers[1],
             .best = numbers[2],
             .worse = static_cast<int64_t>(numbers[3])};
}

void Evaluations::stop() noexcept {
  losses_.clear();
  taken_ = 0;
  is_under_way_ = false;
}

}  // namespace halftone::trainer
