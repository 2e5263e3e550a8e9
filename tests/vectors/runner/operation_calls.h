// The operations of the public interface by their names in the vectors. Main thread only.
#pragma once

#include <functional>
#include <map>

#include "runner/topics.h"

namespace vectors {

// The library returned a status other than OK.
struct Refused {
  htone_status status;
};

inline void accepted(htone_status status) {
  if (status != HTONE_OK) throw Refused{status};
}

// Calls a function whose result comes last, and returns the result; throws Refused.
template <class Function, class... Arguments>
Tensor compute(Function function, Arguments... arguments) {
  htone_tensor* out = nullptr;
  accepted(function(arguments..., &out));
  return Tensor(out);
}

using Tensors = std::vector<Tensor>;

// The arguments of an operation; a tensor that is left out is NULL.
struct Call {
  htone_device* device;
  std::vector<htone_tensor*> inputs;
  Json settings;

  // A setting; it is a string if JSON has no number for it.
  double number(const char* name, double otherwise = 0) const;
  int64_t whole(const char* name, int64_t otherwise = 0) const { return settings.value(name, otherwise); }
  bool flag(const char* name, bool otherwise = false) const { return settings.value(name, otherwise); }
  std::vector<int64_t> list(const char* name) const;
};

using Calls = std::map<std::string, std::function<Tensors(const Call&)>>;

Calls elementwise_calls();
Calls scalar_calls();
Calls reduce_calls();
Calls shape_calls();
Calls index_calls();
Calls select_calls();
Calls loss_calls();
Calls norm_calls();
Calls window_calls();
Calls attention_calls();

// Throws Mismatch for an unknown name, and Refused if the library returns an error.
Tensors call_operation(const std::string& name, const Call& call);

// The results as a list.
template <class... Owned>
Tensors results(Owned... owned) {
  Tensors list;
  (list.push_back(std::move(owned)), ...);
  return list;
}

}  // namespace vectors
