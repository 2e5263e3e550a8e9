// The results of Call and Pure that are several tensors. All of their handles are made or none.
#pragma once

#include <array>
#include <vector>

#include "base/arguments.h"
#include "tensor/lent_tensors.h"

namespace halftone::capi {

// An array of handles, of which all are made or none.
struct TensorsResult {
  htone_tensor** out;

  void require(ArgumentName name) const { require_memory(out, name); }
  void give(const std::vector<Tensor>& tensors) const { TensorHandles(tensors).hand_over(out); }
};
inline TensorsResult tensors(htone_tensor** out) { return {out}; }

// Several handles in places of their own, of which all are made or none.
template <size_t kCount>
struct PlacesResult {
  static constexpr int kParameters = static_cast<int>(kCount);
  std::array<htone_tensor**, kCount> places;

  void require(ArgumentName name) const {
    for (htone_tensor** place : places) {
      require_memory(place, name);
      name = name.next();
    }
  }
  void give(const std::vector<Tensor>& tensors) const {
    std::array<htone_tensor*, kCount> made;
    TensorHandles(tensors).hand_over(made.data());
    for (size_t i = 0; i < kCount; ++i) *places[i] = made[i];
  }
};
template <class... Places>
PlacesResult<sizeof...(Places)> each_of(Places... places) {
  return {{places...}};
}

// Two tensors, of which both handles are made or none.
struct TensorPairResult {
  static constexpr int kParameters = 2;
  htone_tensor** out_first;
  htone_tensor** out_second;

  void require(ArgumentName name) const {
    require_memory(out_first, name);
    require_memory(out_second, name.next());
  }
  template <class Pair>
  void give(const Pair& pair) const {
    const auto& [first, second] = pair;
    htone_tensor* handles[2];
    TensorHandles(std::array{first, second}).hand_over(handles);
    *out_first = handles[0];
    *out_second = handles[1];
  }
};
inline TensorPairResult tensor_pair(htone_tensor** out_first, htone_tensor** out_second) {
  return {out_first, out_second};
}

}  // namespace halftone::capi
