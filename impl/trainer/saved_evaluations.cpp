#include "trainer/saved_evaluations.h"

#include "tensor/factory.h"

namespace halftone::trainer {

namespace {

constexpr int64_t kNumbers = 4;

}  // namespace

SavedEvaluations::SavedEvaluations(ContextDevice& device)
    : numbers_(full(device, DType::kF64, {kNumbers}, 0)), part_(make_ref<SharedStateDict>()) {
  part_->state.add("evaluations", numbers_);
  write({});
}

void SavedEvaluations::write(const EvaluationRecord& record) {
  const double numbers[kNumbers] = {static_cast<double>(record.step), record.loss, record.best,
                                    static_cast<double>(record.worse)};
  write_from_host(numbers_, DType::kF64, numbers);
}

EvaluationRecord SavedEvaluations::read() const {
  double numbers[kNumbers];
  read_to_host(numbers_, DType::kF64, numbers);
  return {.step = static_cast<int64_t>(numbers[0]),
          .loss = numbers[1],
          .best = numbers[2],
          .worse = static_cast<int64_t>(numbers[3])};
}

}  // namespace halftone::trainer
