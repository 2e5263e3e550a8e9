// The results of a module's layers in one forward or several, summarized as an observer sees them. Used by one thread
// at a time.
#pragma once

#include <string>
#include <unordered_map>

#include "analysis/monitor/sample.h"
#include "autograd/observer.h"
#include "nn/module.h"

namespace halftone::analysis {

class Activations {
 public:
  // The module outlives the object.
  explicit Activations(const nn::Module& module) : module_(module) {}

  // Begins a sample. Throws as Module::contents().
  void begin();
  // Adds a result to the record of its layer and operation. Left out are results outside of the module's layers, views
  // of an input, integers, and results on other devices than the sample's.
  void add(const Recorded& recorded, Sample& sample);

 private:
  void name_modules(const std::string& path, const nn::Module& module);
  // The path of the innermost module that is a part of the watched one; null if none is.
  const std::string* path_of(const RunningLayer* layer) const;

  const nn::Module& module_;
  std::unordered_map<const nn::Module*, std::string> paths_;
  std::unordered_map<std::string, size_t> records_;  // of the sample, by path, operation and dtype
};

}  // namespace halftone::analysis
