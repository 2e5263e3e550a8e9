// The settings of a step that must be equal on all ranks: those of the optimizers of the parameters, and the rows of
// the batch. Each backward sends a digest of them along with the state of its rank; where digests differ, ranks
// exchange the settings themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/parameter_set.h"
#include "parallel/mesh/exchange.h"

namespace halftone::parallel {

struct StepSettings {
  std::vector<UpdateSetting> of_rules;
  int64_t rows = 0;  // 0: not compared

  // `with_position`: the numbers of steps are equal, too, unless ranks had different numbers of batches before.
  static StepSettings of(const std::vector<NamedParameter>& parameters, bool with_position, int64_t rows);
  // 24 bits, and not 0; 0 if there is nothing to compare.
  uint32_t digest() const noexcept;
  // "optimizer group 0 lr=0.01", "5 rows in the batch".
  std::vector<std::string> lines() const;
};

// Throws COMM on every rank alike, naming a rank whose settings differ from those of an earlier one, and the first
// setting in which they do. Every rank calls it. REQUIRES: they differ.
[[noreturn]] void fail_different_settings(const Exchange& exchange, const StepSettings& own);

}  // namespace halftone::parallel
