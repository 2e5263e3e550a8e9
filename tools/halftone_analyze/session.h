// The library as the commands need it: a device, tensors that live as long as it, and errors as exceptions.
#pragma once

#include <halftone/halftone.h>

#include <string>
#include <vector>

namespace halftone_analyze {

// Throws std::runtime_error with the message of the thread's last error.
void check(htone_status status);

// Releases the handles that this thread gets while the scope lives. Scopes nest.
class Scope {
 public:
  Scope() { check(htone_handles_begin(&scope_)); }
  ~Scope() { htone_scope_end(scope_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  htone_scope* scope_ = nullptr;
};

// All its tensors are released with it.
class Session {
 public:
  Session();

  // A tensor of f64.
  htone_tensor* tensor_of(const std::vector<double>& values);
  // `count` times the same number, in the memory of one.
  htone_tensor* repeated(double value, int64_t count);
  // All elements are the same number.
  htone_tensor* full(htone_dtype dtype, const std::vector<int64_t>& shape, double value);
  // Waits for the device.
  void wait();
  // The tensors of a safetensors file, which are read one by one.
  htone_state_dict* open(const std::string& path);

 private:
  Scope scope_;
  htone_device* device_ = nullptr;
};

}  // namespace halftone_analyze
