// The evaluations of a training run: when one is due, its batches and mean loss, and how many brought no better loss.
// One thread at a time.
#pragma once

#include "data/batches.h"
#include "trainer/losses.h"
#include "trainer/step_record.h"

namespace halftone::trainer {

class Evaluations {
 public:
  // REQUIRES: the batches outlive the object.
  explicit Evaluations(data::Batches& batches) : batches_(batches) {}

  // Each evaluation has the batches of the first epoch.
  void begin();
  bool is_under_way() const noexcept { return is_under_way_; }
  void next() { batches_.next(); }
  // Takes the loss of the current batch. Returns true if it was the last one.
  bool take_loss(const Tensor& loss);
  // Ends the evaluation with its mean loss. Throws the errors of the ranks.
  void end(int64_t step, const Group* group);
  // Forgets the evaluation under way.
  void stop() noexcept;

  const EvaluationRecord& record() const noexcept { return record_; }

  // For a checkpoint.
  static constexpr size_t kNumbers = 4;
  std::vector<double> numbers() const;
  void set_numbers(const std::vector<double>& numbers);

 private:
  data::Batches& batches_;
  bool is_under_way_ = false;
  int64_t taken_ = 0;
  Losses losses_;
  EvaluationRecord record_;
};

}  // namespace halftone::trainer
