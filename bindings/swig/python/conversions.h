// Python objects as the C++ types of shim.h, and the reverse. Every function expects the GIL. One that fails has set
// Python's exception and returns false or NULL.
#ifndef HALFTONE_BINDINGS_PYTHON_CONVERSIONS_H
#define HALFTONE_BINDINGS_PYTHON_CONVERSIONS_H

#include "shim.h"

namespace ht {

// Owns one reference.
class Object {
 public:
  explicit Object(PyObject* object) : object_(object) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// Calls halftone.<module>.<function>(...) and returns a new reference.
template <class... Arguments>
PyObject* call_python(const char* module, const char* function, const char* format, Arguments... arguments) {
  const Object imported(PyImport_ImportModule(module));
  return imported ? PyObject_CallMethod(imported.get(), function, format, arguments...) : nullptr;
}

inline void raise(const halftone_bindings::StatusError& error) {
  // A message may quote a name from the caller, so it may not be valid UTF-8.
  const Object message(PyUnicode_DecodeUTF8(error.info.message, Py_ssize_t(strlen(error.info.message)), "replace"));
  if (!message) return;
  const Object raised(call_python("halftone.errors", "from_status", "iOi", int(error.info.status), message.get(),
                                  int(error.info.native_code)));
  if (raised) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.get())), raised.get());
}

// The stable ABI has no name in the type's structure.
inline void raise_other_type(const char* expected, PyObject* given) {
  const Object name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(given)), "__name__"));
  if (name) PyErr_Format(PyExc_TypeError, "expected a %s, not %U", expected, name.get());
}

// Calls `take` with each item of a sequence.
template <class Take>
bool each_item(PyObject* object, const char* expected, Take take) {
  const Object sequence(PySequence_Fast(object, expected));
  if (!sequence) return false;
  for (Py_ssize_t i = 0; i < PySequence_Size(sequence.get()); ++i) {
    const Object item(PySequence_GetItem(sequence.get(), i));
    if (!item || !take(item.get())) return false;
  }
  return true;
}

// A sequence of integers, or one integer.
inline bool to_integers(PyObject* object, Integers* out) {
  const auto take = [&](PyObject* item) {
    const Object index(PyNumber_Index(item));
    out->push_back(index ? PyLong_AsLongLong(index.get()) : -1);
    return PyErr_Occurred() == nullptr;
  };
  return PyIndex_Check(object) ? take(object) : each_item(object, "expected a sequence of integers", take);
}

inline bool to_texts(PyObject* object, Texts* out) {
  return each_item(object, "expected a sequence of strings", [&](PyObject* item) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(item, &length);
    if (text != nullptr) out->emplace_back(text, size_t(length));
    return text != nullptr;
  });
}

// A sequence of objects; None stands for an absent one.
template <class Handles>
bool to_handles(PyObject* object, swig_type_info* type, Handles* out) {
  return each_item(object, "expected a sequence of objects", [&](PyObject* item) {
    void* handle = nullptr;
    if (!SWIG_IsOK(SWIG_ConvertPtr(item, &handle, type, 0))) {
      raise_other_type(SWIG_TypePrettyName(type), item);
      return false;
    }
    out->push_back(static_cast<typename Handles::value_type>(handle));
    return true;
  });
}

// An enumeration's member, its number, or its name in any case: Dtype.BF16, 4 or "bf16".
inline bool to_enumeration(PyObject* object, const char* name, int* out) {
  const Object found(PyUnicode_Check(object) ? call_python("halftone.enums", "from_name", "sO", name, object)
                                             : PyNumber_Index(object));
  if (!found) return false;
  *out = int(PyLong_AsLong(found.get()));
  return PyErr_Occurred() == nullptr;
}

inline PyObject* from_enumeration(const char* name, int value) {
  return call_python("halftone.enums", "from_value", "si", name, value);
}

inline PyObject* from_integers(const Integers& integers) {
  Object tuple(PyTuple_New(Py_ssize_t(integers.size())));
  for (size_t i = 0; tuple && i < integers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), PyLong_FromLongLong(integers[i]));
  }
  return tuple.release();
}

inline PyObject* from_text(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
}

// Each object owns its handle; an absent one is None.
template <class Handles>
PyObject* from_handles(const Handles& handles, swig_type_info* type) {
  Object tuple(PyTuple_New(Py_ssize_t(handles.size())));
  for (size_t i = 0; tuple && i < handles.size(); ++i) {
    // For NULL it returns None.
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), SWIG_NewPointerObj(handles[i], type, SWIG_POINTER_OWN));
  }
  return tuple.release();
}

// The memory of an object with the buffer protocol, locked while this object lives.
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { PyBuffer_Release(&view_); }
  bool open(PyObject* object, int flags) { return PyObject_GetBuffer(object, &view_, flags) == 0; }
  const Py_buffer& buffer() const { return view_; }

 private:
  Py_buffer view_{};
};

inline bool to_memory(PyObject* object, View* view, Memory* out) {
  if (object == Py_None) return true;
  if (!view->open(object, PyBUF_C_CONTIGUOUS)) return false;
  *out = {view->buffer().buf, size_t(view->buffer().len)};
  return true;
}

inline bool to_memory(PyObject* object, View* view, WritableMemory* out) {
  if (!view->open(object, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return false;
  *out = {view->buffer().buf, size_t(view->buffer().len)};
  return true;
}

}  // namespace ht

#endif
