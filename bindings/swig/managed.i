/* Functions that Java and C# share: the generated ones, and a few that combine C functions. */

%{
#include "halftone/halftone.h"
#include "packed.h"

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
}

%include "halftone_managed.i"

%inline %{
namespace ht {

inline int64_t live_handles() {
  int64_t count = 0;
  check(htone_debug_live_handles(&count));
  return count;
}

inline void keep_handle(void* handle) { check(htone_keep(handle)); }

/* An upper bound of the bytes of a tensor's elements: every new tensor calls it, so it asks for one number alone. */
inline int64_t tensor_bytes(Tensor* tensor) {
  int64_t count = 0;
  check(htone_tensor_numel(tensor, &count));
  return count * int64_t(sizeof(double));
}

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
