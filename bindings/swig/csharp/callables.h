// C#'s functions as callbacks of the library (callbacks.h). C# hands over a GCHandle of the function, and registers two
// functions of its own: one runs a function and catches everything, the other frees its GCHandle.
#ifndef HALFTONE_BINDINGS_CSHARP_CALLABLES_H
#define HALFTONE_BINDINGS_CSHARP_CALLABLES_H

#include "conversions.h"
#include "packed_calls.h"

namespace ht {

struct CsharpRunner {
  int (*run)(void* function, const void* packed, void* result) = nullptr;
  void (*drop)(void* function) = nullptr;
};

inline CsharpRunner& csharp_runner() {
  static CsharpRunner runner;
  return runner;
}

class CsharpCallable final : public Callable {
 public:
  explicit CsharpCallable(void* function) : function_(function) {}
  ~CsharpCallable() override { csharp_runner().drop(function_); }

  htone_status call(const std::vector<Argument>& arguments, Result* result) noexcept override {
    htone_status status = HTONE_ERROR_OUT_OF_MEMORY;
    try {
      std::string packed(sizeof(int64_t), '\0');
      packed += pack_call(arguments, *result);
      const int64_t length = int64_t(packed.size() - sizeof length);
      memcpy(packed.data(), &length, sizeof length);
      status = htone_status(csharp_runner().run(function_, packed.data(), result));
    } catch (const std::bad_alloc&) {
      status = HTONE_ERROR_OUT_OF_MEMORY;
    }
    if (status != HTONE_OK) release_references(result);
    return status;
  }

 private:
  void* function_;
};

// The number that calls of the library read: of the open scopes whose token is cancelled.
inline volatile int32_t interrupt_count = 0;

// NULL is no function; the library refuses it where it needs one.
inline Callback to_callback(void* function) {
  return function == nullptr ? nullptr : std::make_unique<CsharpCallable>(function);
}

}  // namespace ht

#endif
