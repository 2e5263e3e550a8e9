// The options of an optimizer's group, and the checked settings that they stand for. Used by the calls that make
// optimizers and groups.
#pragma once

#include <vector>

#include "halftone/optimizer.h"
#include "optim/kinds.h"

namespace halftone::capi {

struct OptimizerSettings {
  optim::Kind kind;
  optim::Precision precision;
  std::vector<double> numbers;  // in the order of optim::settings_of
};

const htone_optimizer_options& defaults_of(optim::Kind kind);
optim::Kind checked_kind(htone_optimizer_kind kind, const char* argument, const char* shown);

// Throws INVALID_ARGUMENT naming the field that its kind cannot have, or does not read.
OptimizerSettings checked_settings(const htone_optimizer_options& options);
// The caller's options over the defaults of their kind, which is AdamW for NULL. Throws as checked_settings.
OptimizerSettings optimizer_settings(const htone_optimizer_options* options);

// The settings of a group as options. REQUIRES: index < optimizer.group_count().
htone_optimizer_options options_of(const optim::Optimizer& optimizer, size_t index);

// Throws INVALID_ARGUMENT naming the first field in which the storage that a group was added with differs from `asked`.
void require_same_storage(const optim::Precision& asked, const optim::Precision& kept);

}  // namespace halftone::capi
