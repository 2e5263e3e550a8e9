/* Functions that Java and C# share: the generated ones, and a few that combine C functions. */

%{
#include "halftone/halftone.h"
#include "caller_objects.h"
#include "packed_calls.h"

#include <new>

namespace ht {

/* The context of a new device: the caller's, or the default one. */
class ContextOrDefault {
 public:
  explicit ContextOrDefault(htone_context* given) : context_(given), is_owned_(given == nullptr) {
    if (is_owned_) check(htone_context_default(&context_));
  }
  ContextOrDefault(const ContextOrDefault&) = delete;
  ContextOrDefault& operator=(const ContextOrDefault&) = delete;
  ~ContextOrDefault() {
    if (is_owned_) (void)!htone_context_release(context_);
  }
  htone_context* get() const { return context_; }

 private:
  htone_context* context_;
  bool is_owned_;
};

}  // namespace ht
%}

namespace ht {
class Integers;
class Texts;
struct Memory;
struct Packed;
struct Bytes;
class Callback;
}

%include "halftone_managed.i"
%include "caller_objects.i"

%inline %{
namespace ht {

inline int64_t live_handles() {
  int64_t count = 0;
  check(htone_debug_live_handles(&count));
  return count;
}

/* A reference of its own to what a callback has received. */
inline Tensor* retain_tensor(Tensor* tensor) {
  check(htone_tensor_retain(tensor));
  return tensor;
}

inline Module* retain_module(Module* module) {
  check(htone_module_retain(module));
  return module;
}

inline Parameter* retain_parameter(Parameter* parameter) {
  check(htone_parameter_retain(parameter));
  return parameter;
}

/* The result of a running callback. */
inline void callback_number(void* result, double number) { static_cast<Result*>(result)->number = number; }

inline void callback_integer(void* result, int64_t integer) { static_cast<Result*>(result)->integer = integer; }

inline void callback_bytes(void* result, const Memory& bytes) {
  static_cast<Result*>(result)->bytes.assign(static_cast<const char*>(bytes.data), bytes.size);
}

inline void callback_absent(void* result) { static_cast<Result*>(result)->is_absent = true; }

inline void callback_tensors(void* result, const TensorList& tensors) {
  give_tensors(static_cast<Result*>(result), tensors);
}

/* Makes a reason the last error of this thread. */
inline void callback_failed(int32_t status, const char* text) { (void)!htone_error_set(htone_status(status), text); }

inline void keep_handle(void* handle) { check(htone_keep(handle)); }

inline int64_t tensor_data_address(Tensor* tensor) {
  void* data = nullptr;
  check(htone_tensor_data(tensor, &data));
  return int64_t(reinterpret_cast<intptr_t>(data));
}

/* The bytes in use on the device of a tensor, and about as much as the objects of the library need beside them. */
inline int64_t bytes_in_use(Tensor* tensor) {
  htone_device* device = nullptr;
  check(htone_tensor_device(tensor, &device));
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  const htone_status status = htone_device_memory_stats(device, &stats);
  (void)!htone_device_release(device);
  check(status);
  return stats.current + 512 * live_handles();
}

}  // namespace ht
%}
