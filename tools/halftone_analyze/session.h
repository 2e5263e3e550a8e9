// The library as the commands need it: a device, tensors that live as long as it, and errors as exceptions.
#pragma once

#include <halftone/halftone.h>

#include <vector>

namespace halftone_analyze {

// Throws std::runtime_error with the message of the thread's last error.
void check(htone_status status);

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // A tensor of f64. It is released with the session.
  htone_tensor* tensor_of(const std::vector<double>& values);
  // `count` times the same number, in the memory of one.
  htone_tensor* repeated(double value, int64_t count);

 private:
  htone_scope* scope_ = nullptr;
  htone_device* device_ = nullptr;
};

}  // namespace halftone_analyze
