// The training and evaluation modes of all modules of a model, which an evaluation changes and sets back. A model may
// have parts that are in evaluation mode while it trains. One thread at a time.
#pragma once

#include <utility>
#include <vector>

#include "nn/module_match.h"

namespace halftone::trainer {

class TrainingModes {
 public:
  // Sets the whole model to evaluation mode.
  void begin_evaluation(nn::Module& model) {
    modes_.clear();
    nn::for_each_match(
        model, {}, [&](nn::Module& part) { modes_.emplace_back(Ref<nn::Module>::share(&part), part.is_training()); });
    model.set_training(false);
  }
  // Brings back the modes from before. A module comes before its parts, whose modes it sets, too.
  void end_evaluation() {
    for (const auto& [part, training] : modes_) part->set_training(training);
    modes_.clear();
  }

 private:
  std::vector<std::pair<Ref<nn::Module>, bool>> modes_;
};

}  // namespace halftone::trainer
