// Functions of a language that the library calls. All languages share the way: a generated function takes a Callback
// and hands the library trampoline<htone_..._fn>, the Callable as `user`, and drop_callable. The trampoline collects
// the arguments and stores the results; a language derives one class from Callable, which converts both.
//
// A call may come from any thread. One that fails stores the language's exception under a number and returns this
// number as the status. The call of the library then fails with it as native_code, and the language throws the stored
// exception in place of its own (status.h). The number travels through every level and from any thread; the text of
// a message would be cut, and a place in the thread would miss a call that another thread made.
#ifndef HALFTONE_BINDINGS_CALLBACKS_H
#define HALFTONE_BINDINGS_CALLBACKS_H

#include <memory>
#include <type_traits>
#include <variant>

#include "halftone/custom.h"
#include "halftone/optim.h"
#include "shim.h"

namespace ht {

using BorrowedTensors = std::vector<htone_tensor*>;  // NULL is an absent one

// Handles and memory are borrowed for the call.
using Argument = std::variant<int64_t, double, const char*, Memory, Integers, htone_tensor*, htone_module*,
                              htone_parameter*, BorrowedTensors, std::vector<WritableMemory>>;

struct Result {
  enum class Kind { kNothing, kNumber, kInteger, kBytes, kTensors };
  Kind kind = Kind::kNothing;
  size_t tensor_count = 0;    // places for tensors
  bool has_caller = true;     // false: no caller gets an exception, so the language reports it itself
  bool may_time_out = false;  // an exception that says so becomes HTONE_ERROR_TIMEOUT
  double number = 0;
  int64_t integer = 0;
  std::string bytes;
  bool is_absent = false;      // there are no bytes
  BorrowedTensors references;  // owned; at most tensor_count
};

class Callable {
 public:
  Callable() = default;
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;
  // Runs on any thread.
  virtual ~Callable() = default;
  virtual htone_status call(const std::vector<Argument>& arguments, Result* result) noexcept = 0;
};

using Callback = std::unique_ptr<Callable>;

inline void drop_callable(void* user) { delete static_cast<Callable*>(user); }

// Gives each parameter of a C callback to the arguments, or takes it from the result.
class Exchange {
 public:
  explicit Exchange(bool replaces_inputs) : replaces_inputs_(replaces_inputs) {}

  void give(int64_t number) { arguments.emplace_back(number); }
  void give(size_t number) { arguments.emplace_back(int64_t(number)); }
  void give(const char* text) { arguments.emplace_back(text); }
  void give(htone_tensor* tensor) { arguments.emplace_back(tensor); }
  void give(htone_module* module) { arguments.emplace_back(module); }
  void give(htone_parameter* parameter) { arguments.emplace_back(parameter); }
  void give(double*) { result.kind = Result::Kind::kNumber; }
  void give(htone_tensor**) { expect_tensors(1); }
  void give(const htone_forward_call* call) {
    arguments.emplace_back(BorrowedTensors(call->inputs, call->inputs + call->input_count));
    if (call->outputs) arguments.emplace_back(BorrowedTensors(call->outputs, call->outputs + call->output_count));
    expect_tensors(replaces_inputs_ ? call->input_count : call->output_count);
  }
  void give(const htone_backward_call* call) {
    arguments.emplace_back(BorrowedTensors(call->saved, call->saved + call->saved_count));
    arguments.emplace_back(BorrowedTensors(call->grad_outputs, call->grad_outputs + call->output_count));
    arguments.emplace_back(Integers(call->needs_grad, call->needs_grad + call->input_count));
    expect_tensors(call->input_count);
  }

  void take(double* out) { *out = result.number; }
  void take(htone_tensor** out) { std::copy(result.references.begin(), result.references.end(), out); }
  void take(const htone_forward_call* call) { take(call->out_tensors); }
  void take(const htone_backward_call* call) { take(call->out_grad_inputs); }
  template <class Given>
  void take(Given) {}

  std::vector<Argument> arguments;
  Result result;

 private:
  void expect_tensors(size_t count) {
    result.kind = Result::Kind::kTensors;
    result.tensor_count = count;
  }

  bool replaces_inputs_;
};

template <class Returned, class... Parameters>
Returned call_back(void* user, bool replaces_inputs, Parameters... parameters) noexcept {
  Exchange exchange(replaces_inputs);
  exchange.result.has_caller = !std::is_void_v<Returned>;
  (exchange.give(parameters), ...);
  const htone_status status = static_cast<Callable*>(user)->call(exchange.arguments, &exchange.result);
  if (status == HTONE_OK) (exchange.take(parameters), ...);
  return static_cast<Returned>(status);
}

template <class Function, bool kReplacesInputs>
struct Trampoline;

template <class Returned, bool kReplacesInputs>
struct Trampoline<Returned (*)(void*), kReplacesInputs> {
  static Returned run(void* user) { return call_back<Returned>(user, kReplacesInputs); }
};

template <class Returned, class A, bool kReplacesInputs>
struct Trampoline<Returned (*)(A, void*), kReplacesInputs> {
  static Returned run(A a, void* user) { return call_back<Returned>(user, kReplacesInputs, a); }
};

template <class Returned, class A, class B, bool kReplacesInputs>
struct Trampoline<Returned (*)(A, B, void*), kReplacesInputs> {
  static Returned run(A a, B b, void* user) { return call_back<Returned>(user, kReplacesInputs, a, b); }
};

// A pre-hook has the C type of a hook, but its result are inputs.
template <class Function, bool kReplacesInputs = false>
Function trampoline(const Callback& callback) {
  return callback ? Trampoline<Function, kReplacesInputs>::run : nullptr;
}

}  // namespace ht

#endif
