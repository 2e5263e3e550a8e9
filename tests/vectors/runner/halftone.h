// The public C interface for the runner: handles that release themselves, statuses that become exceptions. Main thread
// only.
#pragma once

#include <halftone/halftone.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace vectors {

// Names the vector that failed and the difference; caught in main.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string last_error() {
  htone_error_info info = {};
  info.struct_size = sizeof info;
  return htone_error_last(&info) == HTONE_OK ? info.message : "no message";
}

inline void ok(htone_status status) {
  if (status != HTONE_OK) throw Mismatch(last_error());
}

template <class Object, htone_status (*release)(Object*)>
struct Release {
  void operator()(Object* object) const { release(object); }
};

template <class Object, htone_status (*release)(Object*)>
using Owner = std::unique_ptr<Object, Release<Object, release>>;

using Context = Owner<htone_context, htone_context_release>;
using Device = Owner<htone_device, htone_device_release>;
using Tensor = Owner<htone_tensor, htone_tensor_release>;
using Module = Owner<htone_module, htone_module_release>;
using Parameter = Owner<htone_parameter, htone_parameter_release>;
using Optimizer = Owner<htone_optimizer, htone_optimizer_release>;
using Schedule = Owner<htone_schedule, htone_schedule_release>;
using Scaler = Owner<htone_grad_scaler, htone_grad_scaler_release>;

// Calls a function whose result comes last, and returns the result as an Owner<...>.
template <class Owned, class Function, class... Arguments>
Owned make(Function function, Arguments... arguments) {
  typename Owned::pointer out = nullptr;
  ok(function(arguments..., &out));
  return Owned(out);
}

inline htone_dtype dtype_of(const std::string& name) {
  for (int value = HTONE_F64; value <= HTONE_BOOL; ++value) {
    const auto dtype = static_cast<htone_dtype>(value);
    if (name == htone_dtype_name(dtype)) return dtype;
  }
  throw Mismatch("no dtype " + name);
}

// A tensor of `rows` rows; `values` are in row-major order.
Tensor make_matrix(htone_device* device, htone_dtype dtype, const std::vector<double>& values, int64_t rows);

// One weight matrix, as in a layer without bias, with functions that set its gradients.
class Weights {
 public:
  // As a matrix of `rows` rows.
  Weights(htone_device* device, const std::vector<double>& values, int64_t rows = 1);

  htone_module* module() const { return module_.get(); }
  // Reads in FP32 from any storage.
  std::vector<double> read() const;
  // Sets the weights' gradient to `gradient`, times the scaler's scale if there is a scaler.
  void backward(htone_grad_scaler* scaler, const std::vector<double>& gradient) const;

 private:
  htone_device* device_;
  int64_t size_;
  int64_t rows_;
  Module module_;
  Parameter parameter_;
};

}  // namespace vectors
