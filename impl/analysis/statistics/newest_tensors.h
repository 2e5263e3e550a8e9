// The newest statistics of each tensor of a model, in the order in which the tensors were first seen. Used by one
// thread at a time.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/statistics/tensor_record.h"

namespace halftone::analysis {

struct NewestTensor {
  int64_t step = 0;
  TensorRecord record;
  // The first steps in which an element was such; 0 if there was none.
  int64_t first_nan = 0;
  int64_t first_infinity = 0;
};

class NewestTensors {
 public:
  void add(int64_t step, const TensorRecord& record) {
    const auto [place, is_new] = places_.try_emplace({record.kind, record.name, record.op}, list_.size());
    if (is_new) list_.emplace_back();
    NewestTensor& tensor = list_[place->second];
    tensor.step = step;
    tensor.record = record;
    if (tensor.first_nan == 0 && record.summary.extremes.nans > 0) tensor.first_nan = step;
    if (tensor.first_infinity == 0 && record.summary.extremes.infinities > 0) tensor.first_infinity = step;
  }
  void clear() noexcept {
    places_.clear();
    list_.clear();
  }
  const std::vector<NewestTensor>& list() const noexcept { return list_; }

 private:
  std::map<std::tuple<TensorKind, std::string, std::string>, size_t> places_;
  std::vector<NewestTensor> list_;
};

}  // namespace halftone::analysis
