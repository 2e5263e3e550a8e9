// How a function of the C API calls the library: `return Call(operation, a, b, out);` lists the parameters in the order
// of the header. They become the operation's arguments from left to right:
//
//   a handle             the object behind it
//   a string             itself, not NULL
//   another value        itself
//   as<check>(a, b...)   one or more parameters: the value that check(a, b..., name) returns
//   optional(a) and so on: call_arguments.h
//
// The last parameter receives the operation's result where it is a pointer or one of call_results.h. An operation is a
// function, a member function of the first object, or a lambda.
#pragma once

#include <array>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/call_arguments.h"
#include "base/call_results.h"
#include "base/guard.h"

namespace halftone::capi {

// How many parameters of the C function an argument stands for.
template <class Argument>
constexpr int parameter_count() {
  if constexpr (requires { Argument::kParameters; }) {
    return Argument::kParameters;
  } else {
    return 1;
  }
}

// The position of each argument's first parameter.
template <class... Arguments>
constexpr std::array<int, sizeof...(Arguments)> parameter_positions() {
  std::array<int, sizeof...(Arguments)> positions = {};
  int next = 0;
  size_t i = 0;
  ((positions[i++] = next, next += parameter_count<Arguments>()), ...);
  return positions;
}

// Converts all arguments but a result at the end, then runs the operation.
template <class Keep, class Operation, class... Arguments>
[[gnu::always_inline]] inline void perform(const char* function, const Operation& operation,
                                           const std::tuple<Arguments...>& arguments) {
  constexpr auto positions = parameter_positions<Arguments...>();
  constexpr size_t last = sizeof...(Arguments) - 1;
  constexpr bool has_result = IsResult<std::tuple_element_t<last, std::tuple<Arguments...>>>;
  [&]<size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    using Inputs = std::tuple<decltype(Keep::convert(std::get<i>(arguments), ArgumentName(function, 0)))...>;
    const Inputs inputs{Keep::convert(std::get<i>(arguments), ArgumentName(function, positions[i]))...};
    const auto run = [&]() -> decltype(auto) { return std::invoke(operation, given(std::get<i>(inputs))...); };
    if constexpr (has_result) {
      const auto result = result_of(std::get<last>(arguments));
      result.require(ArgumentName(function, positions[last]));
      result.give(run());
    } else {
      run();
    }
  }
  (std::make_index_sequence < has_result ? last : last + 1 > {});
}

// A call that holds its objects until it ends, since a callback may release the last reference to one of them.
template <class Operation, class... Arguments>
class Call {
 public:
  Call(const Operation& operation, Arguments... arguments, const char* function = __builtin_FUNCTION()) noexcept
      : status_(guard([&] { perform<Holding>(function, operation, std::tuple(arguments...)); }, function)) {}
  operator htone_status() const noexcept { return status_; }

 private:
  htone_status status_;
};
template <class Operation, class... Arguments>
Call(Operation, Arguments...) -> Call<Operation, Arguments...>;

// A call that computes from its objects, changes none of them and runs no callback. It borrows them as const, which
// saves two atomic operations an object. All of it is inlined: then the compiler sees the operation.
template <class Operation, class... Arguments>
class Pure {
 public:
  [[gnu::always_inline]] Pure(const Operation& operation, Arguments... arguments,
                              const char* function = __builtin_FUNCTION()) noexcept
      : status_(guard(
            [&]() __attribute__((always_inline)) { perform<Borrowing>(function, operation, std::tuple(arguments...)); },
            function)) {}
  operator htone_status() const noexcept { return status_; }

 private:
  htone_status status_;
};
template <class Operation, class... Arguments>
Pure(Operation, Arguments...) -> Pure<Operation, Arguments...>;

// Makes a new object: `Call(make<nn::Relu>, out)`.
template <class Object>
inline constexpr auto make =
    [](auto&&... arguments) { return make_ref<Object>(std::forward<decltype(arguments)>(arguments)...); };

}  // namespace halftone::capi
