// The objects behind the handles of the C API. TOPIC/handles.h names the object of each handle type. A call holds the
// objects that it is given: a callback may release the caller's last reference to one of them.
#pragma once

#include <new>
#include <utility>

#include "base/argument_name.h"
#include "base/given_handles.h"
#include "base/handle_origins.h"
#include "base/handles.h"
#include "core/ref.h"

namespace halftone::capi {

// The object behind a type of handles. Specializations name a class that may be incomplete: a source includes the
// headers of the classes whose objects it uses, and no others.
template <class Handle>
struct HandleTraits;

template <class ObjectType, HandleType handle_type>
struct HandleTo {
  using Object = ObjectType;
  static constexpr HandleType kType = handle_type;
};

template <class T>
concept IsHandle = requires {
  HandleTraits<T>::kType;
};
template <IsHandle Handle>
using ObjectOf = typename HandleTraits<Handle>::Object;

// How a call uses an object: the value that an operation gets, and the check before it.
template <class Object>
struct ObjectAccess;
template <class T>
struct ObjectAccess<Ref<T>> {
  static T& value(const Ref<T>& object) noexcept { return *object; }
  static void require_usable(const Ref<T>&, ArgumentName) noexcept {}
};

// Throws INVALID_HANDLE; the message says what the value is instead.
[[noreturn]] void fail_handle(const void* handle, HandleType expected, ArgumentName argument);
// For an element of an array.
[[noreturn]] void fail_handle_at(const void* handle, HandleType expected, ArgumentName array, size_t index);

inline HandleEntry& entry_of(const void* handle, HandleType type, ArgumentName argument) {
  HandleEntry* entry = HandleTable::instance().find(handle, type);
  if (entry == nullptr) [[unlikely]]
    fail_handle(handle, type, argument);
  return *entry;
}

// The object in an entry. Throws STATE naming `argument` where it cannot be used now.
template <IsHandle Handle>
const ObjectOf<Handle>& object_in(HandleEntry& entry, ArgumentName argument) {
  const auto& object = *std::launder(reinterpret_cast<ObjectOf<Handle>*>(entry.object));
  ObjectAccess<ObjectOf<Handle>>::require_usable(object, argument);
  return object;
}
template <IsHandle Handle>
const ObjectOf<Handle>& object_of(Handle* handle, ArgumentName argument) {
  return object_in<Handle>(entry_of(handle, HandleTraits<Handle>::kType, argument), argument);
}

template <class Object>
auto& value_of(const Object& object) noexcept {
  return ObjectAccess<Object>::value(object);
}

// A reference that keeps the object for as long as it lives. It needs a name: a reference to an object that a temporary
// holds would outlive it.
template <class Object>
class Held {
 public:
  explicit Held(const Object& object) : object_(object) {}

  auto& operator*() const& noexcept { return value_of(object_); }
  auto* operator->() const& noexcept { return &value_of(object_); }
  void operator*() const&& = delete;
  void operator->() const&& = delete;
  Object reference() const noexcept { return object_; }

 private:
  Object object_;
};

template <IsHandle Handle>
Held<ObjectOf<Handle>> hold(Handle* handle, ArgumentName argument) {
  return Held<ObjectOf<Handle>>(object_of(handle, argument));
}

// Makes a handle for the object.
template <IsHandle Handle>
void wrap(Handle** out, ObjectOf<Handle> object) {
  *out = static_cast<Handle*>(HandleTable::instance().add(HandleTraits<Handle>::kType, std::move(object)));
}

// Makes a handle for the object and leaves it to the caller, or to the caller's innermost scope of handles.
template <IsHandle Handle>
void give_handle(Handle** out, ObjectOf<Handle> object) {
  GivenHandles* const scope = GivenHandles::innermost();
  if (scope != nullptr) [[unlikely]]
    scope->reserve(1);
  wrap(out, std::move(object));
  if (scope != nullptr) [[unlikely]]
    scope->note(*out);
  if (HandleOrigins::is_on()) [[unlikely]]
    HandleOrigins::note(*out);
}

// Releases a reference of a handle, unless a callback to which it was lent did so itself.
template <IsHandle Handle>
void drop_handle(Handle* handle) noexcept {
  HandleTable& table = HandleTable::instance();
  if (HandleEntry* entry = table.find(handle, HandleTraits<Handle>::kType)) table.release(*entry);
}

// For the generated functions htone_<type>_retain and htone_<type>_release.
inline void retain_handle(const void* handle, HandleType type, ArgumentName argument) {
  HandleTable::instance().retain(entry_of(handle, type, argument));
}
inline void release_handle(const void* handle, HandleType type, ArgumentName argument) {
  if (handle != nullptr) HandleTable::instance().release(entry_of(handle, type, argument));
}

}  // namespace halftone::capi
