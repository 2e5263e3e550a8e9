#include "analysis/monitor/activations.h"

#include <algorithm>

#include "nn/run_level.h"

namespace halftone::analysis {

namespace {

constexpr const char* kRoot = "(model)";  // as in nn::summary

bool is_view_of_input(const Recorded& recorded) {
  return std::any_of(recorded.inputs.begin(), recorded.inputs.end(), [&](const Tensor* input) {
    return input->defined() && input->storage() == recorded.result.storage();
  });
}

}  // namespace

// Children may have changed since the last sample.
void Activations::begin() {
  module_.contents();  // refuses what is too deep or has too many paths
  paths_.clear();
  records_.clear();
  name_modules("", module_);
}

// A module that is held several times has the first of its paths.
void Activations::name_modules(const std::string& path, const nn::Module& module) {
  if (!paths_.emplace(&module, path.empty() ? kRoot : path).second) return;
  for (size_t i = 0; const nn::Module* child = module.child(i); ++i) {
    name_modules(path.empty() ? module.child_name(i) : path + "." + module.child_name(i), *child);
  }
}

const std::string* Activations::path_of(const RunningLayer* layer) const {
  for (const auto* level = static_cast<const nn::RunLevel*>(layer); level != nullptr; level = level->outer()) {
    const auto found = paths_.find(&level->module());
    if (found != paths_.end()) return &found->second;
  }
  return nullptr;
}

void Activations::add(const Recorded& recorded, Sample& sample) {
  const Tensor& result = recorded.result;
  if (!is_float(result.dtype()) || &result.device() != &sample.device()) return;
  const std::string* path = path_of(recorded.layer);
  if (path == nullptr || is_view_of_input(recorded)) return;
  const std::string key = *path + '\n' + recorded.op + '\n' + name_of(result.dtype());
  const auto [known, is_new] = records_.try_emplace(key, 0);
  if (is_new) {
    known->second = sample.add(TensorKind::kActivation, *path, result.dtype());
    sample[known->second].record.op = recorded.op;
  }
  sample.summarize(known->second, result);
}

}  // namespace halftone::analysis
