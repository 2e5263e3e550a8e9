// The objects that a training run works with. A caller may replace those below `policy` before the first batch.
#pragma once

#include <functional>

#include "analysis/statistics/statistics.h"
#include "comm/group/group.h"
#include "data/batches.h"
#include "nn/module.h"
#include "ops/dispatch/autocast.h"
#include "optim/grad_scaler.h"
#include "optim/optimizer.h"
#include "resume/checkpoint.h"
#include "trainer/fallback.h"

namespace halftone::trainer {

struct Objects {
  Ref<nn::Module> model;
  Ref<data::Batches> batches;
  Ref<AutocastPolicy> policy;
  Ref<optim::Optimizer> optimizer = {};                        // null: one that make_optimizer makes
  std::function<Ref<optim::Optimizer>()> make_optimizer = {};  // before the first batch
  Ref<optim::GradScaler> scaler;
  Ref<data::Batches> evaluation = {};  // null: none
  // The precisions that modules can be raised to, the first one that of all modules.
  std::vector<Level> levels = {};
  Ref<resume::Checkpoint> checkpoint = {};     // null: one in Settings::directory, if that names one
  Ref<Group> group = {};                       // of the ranks that train together; null: one process
  Ref<analysis::Statistics> statistics = {};   // null: those of Settings::log, if that names a file
  std::function<void(int64_t)> progress = {};  // called after each step with its number
};

}  // namespace halftone::trainer
