// The arguments of Call and Pure: what a C parameter becomes, and what is written around parameters of other kinds.
#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "base/arguments.h"
#include "base/objects.h"

namespace halftone::capi {

// One or more parameters that `check` makes a value of.
template <auto check, class... Values>
struct Checked {
  static constexpr int kParameters = sizeof...(Values);
  std::tuple<Values...> values;

  auto converted(ArgumentName name) const {
    return std::apply(
        [&](const auto&... value) {
          if constexpr (std::is_invocable_v<decltype(check), const Values&..., ArgumentName>) {
            return check(value..., name);
          } else {
            return check(value...);
          }
        },
        values);
  }
};
template <auto check, class... Values>
Checked<check, Values...> as(Values... values) {
  return {{values...}};
}

// An empty tensor or reference for NULL.
template <IsHandle Handle>
struct Optional {
  Handle* handle;

  auto converted(ArgumentName name) const {
    return handle == nullptr ? ObjectOf<Handle>() : hold(handle, name).reference();
  }
};
template <IsHandle Handle>
Optional<Handle> optional(Handle* handle) {
  return {handle};
}

// The reference, for an operation that keeps the object.
template <IsHandle Handle>
struct Shared {
  Handle* handle;

  auto converted(ArgumentName name) const { return hold(handle, name).reference(); }
};
template <IsHandle Handle>
Shared<Handle> shared(Handle* handle) {
  return {handle};
}

// The reference in the handle's entry, for an operation that copies it before anything can release the handle. The
// object's class may be incomplete here.
template <IsHandle Handle>
struct Borrowed {
  Handle* handle;

  const ObjectOf<Handle>& converted(ArgumentName name) const { return object_of(handle, name); }
};
template <IsHandle Handle>
Borrowed<Handle> borrowed(Handle* handle) {
  return {handle};
}

// Throws INVALID_HANDLE, naming the place in the array.
template <IsHandle Handle>
const ObjectOf<Handle>& object_at(Handle* const* handles, size_t index, ArgumentName array) {
  constexpr HandleType type = HandleTraits<Handle>::kType;
  HandleEntry* entry = HandleTable::instance().find(handles[index], type);
  if (entry == nullptr) [[unlikely]]
    fail_handle_at(handles[index], type, array, index);
  return object_in<Handle>(*entry, array);
}

// An array of handles with its length before it.
template <IsHandle Handle>
std::vector<ObjectOf<Handle>> held_objects(size_t count, Handle* const* handles, ArgumentName array) {
  std::vector<ObjectOf<Handle>> objects;
  if (count > 0) require(handles, array);
  for (size_t i = 0; i < count; ++i) objects.push_back(object_at(handles, i, array));
  return objects;
}
template <IsHandle Handle>
struct Several {
  static constexpr int kParameters = 2;
  size_t count;
  Handle* const* handles;

  auto converted(ArgumentName name) const { return held_objects(count, handles, name.next()); }
};
template <IsHandle Handle>
Several<Handle> several(size_t count, Handle* const* handles) {
  return {count, handles};
}

template <class Argument>
decltype(auto) converted_value(const Argument& argument, ArgumentName name) {
  if constexpr (requires { argument.converted(name); }) {
    return argument.converted(name);
  } else {
    if constexpr (std::is_same_v<Argument, const char*>) require_memory(argument, name);
    return Argument(argument);
  }
}

// A converted argument as the operation sees it.
template <class Object>
auto& given(const Held<Object>& held) noexcept {
  return *held;
}
template <class T>
const T& given(const T& value) noexcept {
  return value;
}

// The two ways to take an object from its handle. Only Pure borrows.
struct Holding {
  template <class Argument>
  static decltype(auto) convert(const Argument& argument, ArgumentName name) {
    if constexpr (IsHandle<std::remove_pointer_t<Argument>>) {
      return hold(argument, name);
    } else {
      return converted_value(argument, name);
    }
  }
};
struct Borrowing {
  template <class Argument>
  static decltype(auto) convert(const Argument& argument, ArgumentName name) {
    if constexpr (IsHandle<std::remove_pointer_t<Argument>>) {
      return std::as_const(value_of(object_of(argument, name)));
    } else {
      return converted_value(argument, name);
    }
  }
};

}  // namespace halftone::capi
